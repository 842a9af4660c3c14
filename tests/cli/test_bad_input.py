"""Whatever a person gets wrong ends with exit code 2 and one line that says what would be right."""

import pytest

GOOD = ("0,0.20", "100,0.30", "200,0.38", "300,0.42")


def test_missing_file(refused):
    assert refused("fit", "nowhere.csv") == "error: nowhere.csv: there is no such file or directory"


@pytest.mark.parametrize(
    ("rows", "line", "words"),
    [
        ((*GOOD, "400,abc"), 7, "expected a"),
        ((*GOOD, "400,nan"), 7, "expected a"),
        (("-5,0.1", *GOOD), 3, "'compute' is -5; expected 0 or more"),
        ((*GOOD, "400,1.5"), 7, "'value' is 1.5; expected 0 to 1"),
        ((*GOOD, "250,0.43"), 7, "sort the rows by compute"),
        ((*GOOD, "300,0.42"), 7, "expected one row for each amount of compute"),
        ((*GOOD, "300,0.43"), 7, "expected one row for each amount of compute"),
        ((*GOOD, "40"), 7, "was the file cut off?"),
    ],
)
def test_bad_row(refused, table, rows, line, words):
    path = table(*rows)
    said = refused("fit", path)
    assert said.startswith(f"error: {path}, line {line}: ")
    assert words in said


@pytest.mark.parametrize("rows", [(), GOOD[:1], GOOD[:2]])
def test_fewer_than_three_points(refused, table, rows):
    assert "a curve needs at least 3" in refused("forecast", table(*rows))


def test_empty_file(refused, tmp_path):
    path = tmp_path / "run.csv"
    path.touch()
    assert refused("fit", path) == f"error: {path}: is empty; expected a header and rows"


def test_no_such_column(refused, noisy):
    said = refused("fit", noisy(), "--value-column", "accuracy")
    assert "--value-column is 'accuracy'; there are compute, value, n" in said


def test_directory_that_is_no_run(refused, tmp_path):
    assert "is a directory, but no run that is known" in refused("fit", tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--law", "cubic"], "--law is 'cubic'; expected one of sigmoid, power, exponential, logistic"),
        (["--method", "guess"], "--method is 'guess'; expected one of posterior, paper, least-squares"),
        (["--unit", "bananas"], "--unit is 'bananas'; expected one of gpu_hours, flops, tokens, steps"),
        (["--level", "90"], "--level is '90'; expected a number between 0 and 1, such as 0.9"),
        (["--until", "soon"], "--until is 'soon'; expected a number such as 1e4 or 12_000"),
        (["--from", "-1"], "--from is '-1'; expected 0 or more"),
        (["--from", "9", "--until", "8"], "--from is 9 and --until is 8; expected --from to be the lower"),
        (["--range", "5"], "--range is '5'; expected LOW,HIGH: two numbers, the lower first, such as -1,1"),
        (["--range", "5,-5"], "--range is '5,-5'; expected LOW,HIGH: two numbers, the lower first, such as -1,1"),
        (["--gpus", "0"], "--gpus is '0'; expected a positive number such as 1e4 or 12_000"),
        (["--figure", "fit.pdf"], "--figure is 'fit.pdf'; expected a name that ends in .png or .svg"),
        (["--table", "nowhere/fit.md"], "--table is 'nowhere/fit.md'; there is no folder 'nowhere'"),
        (["--speed", "5"], "no such option: --speed; see scalerl fit --help"),
        (["--until"], "option '--until' requires an argument"),
    ],
)
def test_bad_option(refused, noisy, options, said):
    assert refused("fit", noisy(), *options) == f"error: {said}"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["forecast", "--at", "1e4,,2e4"], "--at is '1e4,,2e4'; expected values separated by commas"),
        (["forecast", "--at", "24k"], "--at is '24k'; expected a positive number"),
        (["forecast", "--at", "1e4", "--at", "inf"], "--at is 'inf'; expected a positive number"),
        (["forecast", "--reach", "60"], "--reach is '60'; expected values between 0 and 1"),
        (["forecast", "--earlier", "nowhere.csv"], "nowhere.csv: there is no such file"),
        (["budget"], "missing option '--reach'; see scalerl budget --help"),
        (["budget", "--reach", "0.5", "--spend", "-3"], "--spend is '-3'; expected a positive number"),
        (["backtest", "--cuts", ".5,2"], "--cuts is '2'; expected shares between 0 and 1"),
        (["report", "-o", "report.pdf"], "--output is 'report.pdf'; expected a name that ends in .html"),
        (["compare"], "expected at least two recipes to compare"),
    ],
)
def test_bad_option_of_a_command(refused, noisy, command, said):
    assert said in refused(command[0], noisy(), *command[1:])


def test_no_file_and_no_such_command(refused):
    assert refused("fit") == "error: missing argument 'FILE'; see scalerl fit --help"
    assert "no such command 'fits'" in refused("fits")


def test_too_few_points_after_until(refused, noisy):
    assert refused("fit", noisy(), "--until", "300").startswith(
        "error: run.csv: 2 points to fit; expected at least 3"
    )


def test_one_bad_file_of_several_prints_nothing_else(refused, noisy, tmp_path):
    (tmp_path / "bad.csv").write_text("compute,value\n1,x\n")
    assert "bad.csv, line 2" in refused("fit", noisy(), tmp_path / "bad.csv", "--json")


def test_refusal_leaves_no_file(refused, noisy, tmp_path):
    refused("fit", noisy(), "--until", "300", "--table", tmp_path / "fit.md")
    assert [path.name for path in tmp_path.iterdir()] == ["run.csv"]


def test_a_file_that_is_read_is_never_written_over(refused, noisy):
    path = noisy("run.csv")
    before = path.read_text()
    assert "--table would write over" in refused("fit", path, "--table", path)
    assert "--table would write over" in refused(
        "compare", path, noisy("b-2.csv"), "--table", path.with_name("b.csv")
    )
    assert path.read_text() == before


def test_a_place_that_cannot_be_written_is_named_as_the_user_named_it(refused, noisy):
    assert "/proc/x.md" in refused("fit", noisy(), "--table", "/proc/x.md")
