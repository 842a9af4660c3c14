"""A task of your own: the example works, and each mistake in such a file is named."""

import importlib.util
import pickle
from pathlib import Path

import pytest

from scalerl.errors import InputError
from scalerl.recipe.tasks import Python as Section
from scalerl.tasks.building import task_of
from scalerl.tasks.judging import Judge
from scalerl.tasks.python_task import PythonTask
from scalerl.tasks.task import Answer

EXAMPLE = Path(__file__).parents[2] / "examples" / "task_of_your_own.py"

WHOLE = """
from __future__ import annotations
from dataclasses import dataclass
from scalerl.records import Prompt, Verdict

def ask(number, name="own"):
    return Prompt(id=f"{name}:{number}", task=name, text=str(number), answer=number)

@dataclass
class Own:
    size: int = 3
    name = "own"
    def prompts(self): return [ask(number) for number in range(self.size)]
    def held_out(self, count): return [ask(100 + number) for number in range(count)]
    def judge(self, prompt, answer): return Verdict(score=1.0, passed=True)
"""


def written(tmp_path, code=WHOLE, name="Own", **options):
    file = tmp_path / "own.py"
    file.write_text(code)
    return Section(path=f"{file}:{name}", options=options)


def test_the_example_is_a_whole_task_in_about_twenty_lines():
    task = task_of(Section(path=f"{EXAMPLE}:Backwards", options={"num_prompts": 30}), num_held_out=20)
    pool, held_out = task.prompts(), task.held_out(20)
    assert len(pool) == 30 and len(held_out) == 20
    prompt = pool[1]
    assert prompt.text == "Write 17919 backwards."
    asked = [(prompt, Answer(text=text)) for text in ("91971", "17919", "<answer>91971</answer>", "")]
    with Judge(task) as judge:
        assert [verdict.passed for verdict in judge.judge_all(asked)] == [True, False, True, False]
    code = [
        line for line in EXAMPLE.read_text().splitlines() if line.strip() and not line.startswith(('"""', "from"))
    ]
    assert len(code) <= 20


def test_all_its_prompts_differ():
    spec = importlib.util.spec_from_file_location("example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert len({prompt.id for prompt in module.Backwards(90_000).prompts()}) == 90_000


def test_options_reach_the_class_and_dataclasses_work(tmp_path):
    assert len(PythonTask(written(tmp_path, size=5)).prompts()) == 5


def test_a_pickled_task_is_loaded_from_its_file(tmp_path):
    task = PythonTask(written(tmp_path, size=5))
    assert pickle.loads(pickle.dumps(task)).prompts() == task.prompts()


@pytest.mark.parametrize("path", ["", "own.py", ":Own", "own.py:"])
def test_a_path_without_file_or_class_is_refused(path):
    with pytest.raises(
        InputError, match=r"task.path is .*; expected a file and a class, such as my_task.py:Reverse"
    ):
        PythonTask(Section(path=path))


@pytest.mark.parametrize(
    ("code", "name", "message"),
    [
        (WHOLE, "Other", r"own.py: has no class 'Other'"),
        (WHOLE, "ask", r"own.py: has no class 'ask'"),
        ("class Own:\n    def", "Own", r"own.py, line 2: is no Python"),
        ("1 / 0", "Own", r"own.py: cannot be run: ZeroDivisionError: division by zero"),
        ("import no_such_module_at_all", "Own", r"own.py: cannot be run: ModuleNotFoundError"),
        (WHOLE.replace("    def judge", "    def judges"), "Own", r"own.py: Own lacks judge"),
        (WHOLE.replace('name = "own"', "name = 5"), "Own", r"own.py: Own lacks a name of text"),
    ],
)
def test_a_file_that_cannot_be_is_refused(code, name, message, tmp_path):
    with pytest.raises(InputError, match=message):
        PythonTask(written(tmp_path, code, name))


def test_options_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"Own does not take task.options: TypeError: .*sizes"):
        PythonTask(written(tmp_path, sizes=3))
    with pytest.raises(InputError, match=r"nowhere.py: there is no such file"):
        PythonTask(Section(path=str(tmp_path / "nowhere.py:Own")))
    with pytest.raises(InputError, match=r"own.txt: is no Python file"):
        (tmp_path / "own.txt").write_text(WHOLE)
        PythonTask(Section(path=str(tmp_path / "own.txt:Own")))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ask(number) for", "str(number) for", r"prompts\(\) gave '0'; expected scalerl.records.Prompt"),
        ("ask(number) for", 'ask(number, "other") for', r"the id 'other:0' and task 'other'; expected .* 'own:'"),
        ("ask(number) for", "ask(7) for", r"prompts\(\) gave the id 'own:7' twice"),
        ("range(self.size)", "()", r"prompts\(\) gave no prompts"),
        ("answer=number", "answer={1, 2}", r"the answer of 'own:0' is no JSON"),
        ("ask(100 + number)", "ask(2 + number)", r"1 held-out prompts are also in the pool, the first is 'own:2'"),
        ("range(count)", "range(count - 1)", r"held_out\(5\) gave 4 prompts"),
    ],
)
def test_prompts_that_cannot_be_are_refused(old, new, message, tmp_path):
    assert old in WHOLE
    task = PythonTask(written(tmp_path, WHOLE.replace(old, new)))
    with pytest.raises(InputError, match=message):
        task.prompts()
        task.held_out(5)
