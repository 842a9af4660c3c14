import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from example_runs import odd_runs, sigmoid_run

import scalerl
from scalerl.report.hindsight import hindsight
from scalerl.report.page import report_page, write_page
from scalerl.report.question import Question
from scalerl.scaling.number_text import interval_text, value_text

VOID = {"meta", "br", "hr", "img", "link", "input"}
BAD = "<script>alert('x')</script>&\"--></svg>"


class Structure(HTMLParser):
    """Checks that tags close in order, and keeps what was seen."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def structure(page):
    parser = Structure()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture(scope="module")
def single():
    return report_page([sigmoid_run(num_points=33)], until=8000, at=16_000, reach=[0.6])


@pytest.fixture(scope="module")
def several():
    two_points = scalerl.Curve.of([1, 2], [0.1, 0.2], unit="gpu_hours", name="two points")
    runs = [sigmoid_run(), sigmoid_run(BAD, ceiling=0.55), two_points]
    return report_page(runs, at=[30_000, 60_000], method="least-squares", title=BAD)


def test_pages_are_well_formed_with_headings_captions_and_words_for_figures(single, several):
    for page, num_figures in ((single, 2), (several, 6)):
        seen = structure(page)
        assert seen.tags.count("svg") == num_figures == sum(value == "img" for _, value in seen.attributes)
        assert seen.tags.count("table") == seen.tags.count("caption")
        assert seen.tags.count("h1") == 1 and "h2" in seen.tags
        assert ("name", "viewport") in seen.attributes


def test_nothing_is_fetched(single, several):
    for page in (single, several):
        seen = structure(page)
        for name, value in seen.attributes:
            if "http" in (value or ""):
                assert name.startswith("xmlns")
            if name in ("href", "xlink:href", "src"):
                assert value.startswith("#")
        assert "script" not in seen.tags and "link" not in seen.tags and "@import" not in page


def test_names_of_runs_cannot_break_out(several):
    assert "<script" not in several
    assert "&lt;script&gt;alert(" in several
    assert any(BAD in text for text in structure(several).text)


def test_ids_are_unique(several):
    ids = re.findall(r'\bid="([^"]+)"', several)
    assert len(ids) == len(set(ids)) > 10
    references = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', several)
    assert {one or other for one, other in references} <= set(ids)


def test_the_headline_is_that_of_the_forecast_and_says_what_came(single):
    ahead = scalerl.forecast(sigmoid_run(num_points=33), until=8000, at=[16_000], reach=[0.6])
    (point,) = ahead.points
    assert (
        f"At 16,000 GPU-hours expect {value_text(point.value)} (90%: {interval_text(point.low, point.high)})"
        in single
    )
    came = hindsight(ahead)
    assert came.num_later == 16 and came.num_averaged == 3
    assert came.actual == pytest.approx(sigmoid_run(num_points=33).value[-3:].mean())
    assert (
        f"What came: {value_text(came.actual)}" in single and ("inside" if came.is_inside else "outside") in single
    )
    assert "Had you asked at half of the fitted part" in single and "of this run" not in single


def test_a_run_that_is_fitted_whole_is_told_as_this_run(several):
    assert "Had you asked at half of this run" in several and "fitted part" not in several


def test_a_ceiling_that_is_not_identified_says_why():
    five = next(run for run in odd_runs() if run.name == "five")
    page = report_page([five])
    assert "The ceiling is not identified: " in page and "Only 5 points" in page
    assert "Had you asked" not in page


def test_several_runs_are_compared_and_one_that_cannot_be_fitted_says_so(several):
    for words in (
        "Which recipe is better",
        "Their ceilings",
        "Refitted with one ceiling",
        "Not fitted: two points",
    ):
        assert words in several
    assert several.index("Which recipe is better") < several.index('id="run-1"')
    assert 'id="calibration"' in several


@pytest.mark.parametrize("curve", odd_runs()[1:6], ids=lambda curve: curve.name)
def test_every_odd_curve_has_a_report(curve):
    structure(report_page([curve], method="least-squares"))


@pytest.mark.parametrize("law", ["power", "logistic"])
def test_every_law_has_a_report(law):
    structure(report_page([sigmoid_run(num_points=12)], law=law, method="least-squares"))


def test_recipes_can_be_compared_by_a_law_without_efficiency():
    runs = [sigmoid_run(num_points=12), sigmoid_run("other", num_points=12, ceiling=0.5)]
    page = report_page(runs, law="exponential", method="least-squares")
    assert "Their ceilings" in page and "Refitted" not in page


def test_runs_without_a_common_unit_are_not_compared():
    page = report_page([odd_runs()[0], odd_runs()[3]], method="least-squares")
    assert "Not compared: no unit of compute" in page


def test_a_single_run_that_cannot_be_fitted_is_refused():
    with pytest.raises(scalerl.InputError, match="2 points to fit"):
        report_page([scalerl.Curve.of([1, 2], [0.1, 0.2], unit="steps")])
    with pytest.raises(scalerl.InputError, match="no runs"):
        report_page([])


def test_the_same_input_gives_the_same_bytes():
    one, again = (report_page([sigmoid_run(num_points=8)], method="least-squares") for _ in range(2))
    assert one == again


def test_a_page_is_written_whole_or_not_at_all(tmp_path):
    write_page("<p>", tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text() == "<p>"
    with pytest.raises(scalerl.InputError, match="gone does not exist"):
        write_page("<p>", tmp_path / "gone" / "a.html")
    with pytest.raises(scalerl.InputError, match=r"expected one of .html"):
        write_page("<p>", tmp_path / "a.pdf")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(scalerl.InputError, match="a folder"):
        write_page("<p>", tmp_path / "folder.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "folder.html"]


def test_recipes_are_compared_within_a_task_and_never_across():
    one, other = (sigmoid_run(name=name) for name in ("run", "another"))
    runs = [
        replace(run, name=f"{run.name} [{task}]", task=task) for run in (one, other) for task in ("maths", "code")
    ]
    page = report_page(runs)
    assert "Which recipe is better on maths" in page and "Which recipe is better on code" in page
    alone = report_page([replace(one, task="maths"), replace(other, task="code")])
    assert "Which recipe is better" not in alone


def test_a_usual_compute_that_reads_like_a_named_one_is_left_out():
    question = dict(law="sigmoid", method="least-squares", since=None, until=8000, reach=(), level=0.9)
    ahead = Question(at=(15_900.0,), **question).forecast(sigmoid_run(num_points=33))
    assert [point.compute for point in ahead.points] == [12_000, 15_900, 32_000]
    assert (
        len(Question(at=(14_000.0, 15_900.0, 16_000.0), **question).forecast(sigmoid_run(num_points=33)).points)
        == 5
    )
