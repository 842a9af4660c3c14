import csv
import io
from dataclasses import replace

import pytest
from example_runs import odd_runs, sigmoid_run

import scalerl
from scalerl.report.comparison_tables import comparison_table, ranking_table
from scalerl.report.table import Column, Table, words
from scalerl.report.table_files import to_csv, to_latex, to_markdown, write_table
from scalerl.report.tables import (
    backtest_table,
    budget_table,
    fit_table,
    forecast_table,
    target_table,
    windows_table,
)
from scalerl.scaling.number_text import compute_text, interval_text


def rows_of(table):
    return list(csv.DictReader(io.StringIO(to_csv(table))))


@pytest.fixture(scope="module")
def fitted():
    return scalerl.fit(sigmoid_run())


@pytest.fixture(scope="module")
def compared():
    return scalerl.compare([sigmoid_run(), sigmoid_run("other", ceiling=0.55)], at=30_000, method="least-squares")


@pytest.fixture(scope="module")
def tables(fitted, compared):
    ahead = scalerl.forecast(fitted, at=[24_000, 1e6], reach=[0.5, 0.7])
    tested = scalerl.backtest([sigmoid_run()])
    return (
        fit_table([fitted, *(scalerl.fit(run, method="least-squares") for run in odd_runs())]),
        fit_table(
            [scalerl.fit(sigmoid_run(), law=law, method="least-squares") for law in ("power", "exponential")]
        ),
        forecast_table([ahead]),
        target_table([ahead]),
        windows_table(scalerl.windows(odd_runs()[2], method="least-squares")),
        budget_table([scalerl.budget(fitted, reach=0.6), scalerl.budget(fitted, reach=0.9, cost_per_unit=2.5)]),
        backtest_table(tested),
        comparison_table(compared),
        comparison_table(compared, "gpu_hours"),
        ranking_table(compared),
    )


def test_markdown_has_as_many_cells_in_every_row(tables):
    for table in tables:
        lines = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
        assert len(lines) == 2 + len(table.rows)
        assert {len(line.replace(r"\|", "").strip("|").split("|")) for line in lines} == {len(table.columns)}


def test_latex_has_as_many_cells_in_every_row(tables):
    for table in tables:
        written = to_latex(table)
        rows = [line for line in written.splitlines() if line.endswith(r"\\")]
        assert {line.replace(r"\&", "").count("&") for line in rows} == {len(table.columns) - 1}
        assert len(rows) == 1 + len(table.rows) and written.isascii()


def test_csv_reads_back_to_the_numbers_of_the_fit(fitted):
    (row,) = rows_of(fit_table([fitted]))
    assert (row["run"], row["unit"]) == ("ScaleRL", "gpu_hours")
    for name, found in fitted.parameters.items():
        numbers = [float(row[field]) for field in (name, f"{name}_low", f"{name}_high")]
        assert numbers == [found.value, found.low, found.high]


def test_csv_of_a_forecast_and_its_targets_is_exact(fitted):
    ahead = scalerl.forecast(fitted, at=[24_000], reach=[0.5, 0.99])
    (row,) = rows_of(forecast_table([ahead]))
    assert (float(row["level"]), float(row["low"])) == (ahead.points[0].value, ahead.points[0].low)
    near, never = rows_of(target_table([ahead]))
    assert float(near["compute"]) == ahead.targets[0].compute
    assert never["compute"] == "" and "never" in target_table([ahead]).texts[1][2]


def test_csv_of_a_pair_is_exact(compared):
    pair = compared.pairs[0]
    (row,) = rows_of(comparison_table(compared))
    assert float(row["difference_low"]) == pair.difference.low
    assert float(row["probability_better"]) == pair.probability_better
    assert row["ceilings"] == pair.ceilings
    chances = [float(row["probability_best"]) for row in rows_of(ranking_table(compared))]
    assert sum(chances) == pytest.approx(1) and chances[0] == max(chances)


def test_the_fit_table_has_the_shape_of_the_papers_table_1(fitted):
    head = next(line for line in to_latex(fit_table([fitted])).splitlines() if "Run" in line)
    assert head.strip().startswith(r"Run & $C_{\mathrm{mid}}$ (GPU-hours) & $B$ & $A$ & $R_0$ &")


def test_special_characters_are_escaped():
    name = r"a_b 100% R&D #1 $x$ {y} ~ ^ \z |pipe|"
    table = Table(title="T_1", columns=(Column(title="Run", fields=("run",)),), rows=((words(name),),))
    assert r"a\_b 100\% R\&D \#1 \$x\$ \{y\}" in to_latex(table) and r"\textbackslash{}z" in to_latex(table)
    assert r"\|pipe\|" in to_markdown(table)
    assert list(csv.reader(io.StringIO(to_csv(table))))[1] == [name]


def test_tables_are_written_by_suffix_or_not_at_all(fitted, tmp_path):
    table = fit_table([fitted])
    for suffix, written in ((".md", to_markdown), (".tex", to_latex), (".csv", to_csv)):
        write_table(table, tmp_path / f"a{suffix}")
        assert (tmp_path / f"a{suffix}").read_text() == written(table)
    with pytest.raises(scalerl.InputError, match=r"expected one of .md, .tex, .csv"):
        write_table(table, tmp_path / "a.xlsx")
    with pytest.raises(scalerl.InputError, match="nowhere does not exist"):
        write_table(table, tmp_path / "nowhere" / "a.md")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.md", "a.tex"]


def test_a_column_can_be_left_out(fitted):
    table = fit_table([fitted])
    rest = table.without("Run")
    assert [column.title for column in rest.columns] == [column.title for column in table.columns][1:]
    assert rest.rows[0] == table.rows[0][1:]


def test_saturation_later_than_can_be_told_is_not_called_never(fitted):
    texts = budget_table([scalerl.budget(fitted, reach=0.9)]).texts[0]
    assert "never" in texts[2] and all("never" not in text for text in texts[5:])


@pytest.mark.parametrize(
    ("compute", "text"),
    [(0, "0"), (24_576, "24,576"), (0.00321, "0.00321"), (1e7, "1e7"), (9_999_999.5, "10,000,000")],
)
def test_computes_are_written_shortly(compute, text):
    assert compute_text(compute) == text


def test_the_ends_of_a_narrow_interval_can_be_told_apart():
    assert interval_text(0.6111, 0.6141) == "0.611\N{EN DASH}0.614"


@pytest.mark.parametrize(
    ("probability", "text"),
    [(0.37, "none likely (37%)"), (0.5, "50% sure, unclear where"), (0.63, "63% sure, unclear where")],
)
def test_only_a_crossing_below_one_half_is_called_unlikely(compared, probability, text):
    pair = compared.pairs[0]
    nowhere = replace(pair, crossing=replace(pair.crossing, compute=None, probability=probability))
    [row] = comparison_table(replace(compared, pairs=(nowhere,))).texts
    assert text in row


def test_a_cost_names_the_unit_that_is_priced(fitted):
    priced = scalerl.budget(fitted, reach=0.6, cost_per_unit=2.5)
    flops = scalerl.budget(sigmoid_run(unit="flops"), reach=0.6, cost_per_unit=0.25)
    notes = budget_table([priced, flops]).notes
    assert notes[0].endswith("Compute costs 2.5 per GPU-hour.") and notes[1].endswith(
        "Compute costs 0.25 per FLOP."
    )
    assert "Compute costs" not in budget_table([scalerl.budget(fitted, reach=0.6)]).notes[0]
