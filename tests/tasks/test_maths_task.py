"""Maths: prompts from columns, a held-out set that never overlaps, verdicts of math-verify."""

import json
import pickle
import warnings

import pytest

from scalerl.errors import InputError
from scalerl.recipe.tasks import Maths as Section
from scalerl.records import Prompt
from scalerl.tasks.equality import is_equal
from scalerl.tasks.maths import Maths
from scalerl.tasks.task import Answer

pytest.importorskip("math_verify")


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def sums(first, last):
    return [
        {"question": f"What is {n} + {n}?", "answer": f"{n} + {n} = {2 * n}\n#### {2 * n}"}
        for n in range(first, last)
    ]


def test_prompts_hold_what_follows_the_hashes_and_have_stable_ids(tmp_path):
    path = lines(tmp_path / "train.jsonl", sums(0, 10))
    prompts = Maths(Section(path=path), 2).prompts()
    assert len(prompts) == 8 and {prompt.task for prompt in prompts} == {"maths"}
    by_text = {prompt.text: prompt for prompt in Maths(Section(path=path), 0).prompts()}
    assert by_text["What is 4 + 4?"].answer == "8"
    assert by_text["What is 4 + 4?"].id == "maths:b98a5846f88ba863"  # sha256 of the question


def test_columns_are_named_by_the_recipe(tmp_path):
    path = lines(tmp_path / "a.jsonl", [{"problem": "1 + 1", "solution": 2, "n": 17, "level": "easy"}])
    section = Section(path=path, question="problem", answer="solution", id="n", difficulty="level")
    assert Maths(section, 0).prompts() == [
        Prompt(id="maths:17", task="maths", text="1 + 1", answer="2", difficulty="easy")
    ]


@pytest.mark.parametrize(("number", "text"), [(42, "42"), (0.5, "0.5"), (1e-7, "0.0000001"), (-3.0, "-3.0")])
def test_numbers_become_text_that_latex_reads(number, text, tmp_path):
    path = lines(tmp_path / "a.jsonl", [{"question": "a", "answer": number}])
    assert Maths(Section(path=path), 0).prompts()[0].answer == text


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "b"}, r"has no 'answer' \(task.answer names the column\)"),
        ({"answer": "1"}, r"has no 'question' \(task.question names the column\)"),
        ({"question": "b", "answer": None}, "has no 'answer'"),
        ({"question": "  ", "answer": "1"}, "has an empty 'question'"),
        ({"question": "b", "answer": "so\n#### "}, "has nothing after ####"),
        ({"question": "b", "answer": True}, "has True as 'answer'; expected text or a number"),
        ({"question": "b", "answer": ["1"]}, r"has \['1'\] as 'answer'"),
        ({"question": "b", "answer": float("nan")}, "has nan as 'answer'"),
        ({"question": "a", "answer": "2"}, "asks what line 1 in .*jsonl asks, with the answer '2' instead of '1'"),
    ],
)  # fmt: skip
def test_a_row_that_is_no_question_is_refused_by_its_line(row, message, tmp_path):
    path = lines(tmp_path / "train.jsonl", [{"question": "a", "answer": "1"}, row])
    with pytest.raises(InputError, match=rf"train.jsonl, line 2: {message}"):
        Maths(Section(path=path), 0).prompts()


def test_the_same_id_twice_is_refused(tmp_path):
    rows = [{"question": "a", "answer": 1, "id": 5}, {"question": "b", "answer": 1, "id": 5}]
    path = lines(tmp_path / "train.jsonl", rows)
    with pytest.raises(InputError, match=r"line 2: has the id '5' of line 1 in .*; ids must differ"):
        Maths(Section(path=path, id="id"), 0).prompts()


def test_repeated_questions_with_the_same_answer_are_asked_once_and_counted(tmp_path):
    rows = [
        {"question": "a b", "answer": 1},
        {"question": "a\n b ", "answer": 1},
        {"question": "a b", "answer": "1"},
    ]
    path = lines(tmp_path / "train.jsonl", rows)
    with pytest.warns(UserWarning, match="2 repeated questions are asked once"):
        assert len(Maths(Section(path=path), 0).prompts()) == 1


def test_held_out_questions_are_taken_out_of_the_pool_whatever_the_order_of_the_file(tmp_path):
    forward = Maths(Section(path=lines(tmp_path / "a.jsonl", sums(0, 100))), 30)
    backward = Maths(Section(path=lines(tmp_path / "b.jsonl", sums(0, 100)[::-1])), 30)
    held_out, pool = forward.held_out(30), forward.prompts()
    assert len(held_out) == 30 and len(pool) == 70
    assert len({prompt.id for prompt in (*held_out, *pool)}) == 100
    assert backward.held_out(30) == held_out and forward.held_out(10) == held_out[:10]
    assert {prompt.id for prompt in backward.prompts()} == {prompt.id for prompt in pool}
    assert [prompt.text for prompt in pool] != sorted((p.text for p in pool), key=lambda t: hash(t))  # file order
    with pytest.raises(InputError, match="31 held-out prompts are asked for, but 30 were set aside"):
        forward.held_out(31)


def test_too_few_questions_to_hold_some_out_are_refused(tmp_path):
    task = Maths(Section(path=lines(tmp_path / "a.jsonl", sums(0, 59))), 30)
    with pytest.raises(
        InputError, match=r"a.jsonl: holds 59 questions, too few to hold out 30.*lower evaluation.prompts"
    ):
        task.prompts()


def test_a_held_out_file_is_used_whole_and_kept_apart(tmp_path):
    train = lines(tmp_path / "train.jsonl", [{**row, "n": n} for n, row in enumerate(sums(0, 20))])
    test = lines(tmp_path / "test.jsonl", [{**row, "n": n} for n, row in enumerate(sums(20, 25))])
    task = Maths(Section(path=train, held_out_path=test, id="n"), 1000)
    assert len(task.prompts()) == 20 and len(task.held_out(1000)) == 5
    assert {prompt.text for prompt in task.held_out(3)} < {f"What is {n} + {n}?" for n in range(20, 25)}
    assert not {prompt.id for prompt in task.prompts()} & {prompt.id for prompt in task.held_out(5)}


def test_a_held_out_file_that_overlaps_is_refused_with_the_first_and_the_count(tmp_path):
    train = lines(tmp_path / "train.jsonl", sums(0, 20))
    test = lines(
        tmp_path / "test.jsonl", [*sums(30, 33), {"question": " What is 7  + 7?", "answer": 14}, *sums(18, 22)]
    )
    task = Maths(Section(path=train, held_out_path=test), 5)
    message = r"test.jsonl: 3 held-out questions are also in .*train.jsonl, the first is 'What is 7  \+ 7\?'"
    with pytest.raises(InputError, match=message):
        task.prompts()


def test_an_empty_file_and_an_empty_path_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"a.jsonl: holds no questions"):
        Maths(Section(path=lines(tmp_path / "a.jsonl", [])), 0).prompts()
    with pytest.raises(InputError, match=r"task.path is empty"):
        Maths(Section(), 0)


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        ("42", "42"), ("42", "The answer is 42."), ("42", r"so \boxed{42}"), ("42", "42.0"), ("42", r"$x = 42$"),
        ("42", "#### 42"), ("42", "<answer>42</answer>"), ("42", "First 17, then 42"),
        ("1,234", "1234"), ("1234", "1,234"), ("3/4", "0.75"), ("0.75", r"\boxed{\frac{3}{4}}"),
        (r"\frac{1}{2}", "1/2"), (r"$\frac12$", r"\boxed{0.5}"), (r"\boxed{7}", "7"),
        ("2\\sqrt{3}", r"$\sqrt{12}$"), ("1,2,3", r"\boxed{3, 2, 1}"), ("x^2+2x+1", r"$(x+1)^2$"),
        ("x=3", r"\boxed{3}"), (r"50\%", r"\boxed{50\%}"), ("B", r"\boxed{B}"), ("18.00", "18"), (r"\$18", "18"),
    ],
)  # fmt: skip
def test_answers_that_are_equal_pass(right, answer):
    verdict = judged(right, answer)
    assert verdict.passed and verdict.score == 1


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        ("42", "43"), ("42", ""), ("42", "nothing"), ("42", r"42 or maybe \boxed{41}"), ("42", "42 and finally 17"),
        ("42", r"\boxed{41} \boxed{42} \boxed{43}"), ("3/4", "3"), ("2\\sqrt{3}", "2"), ("1,2,3", "1"),
        ("-7", "7"), ("x^2+1", r"$x^2+2$"), ("42", r"\boxed{"), ("42", "((((((" * 50),
    ],
)  # fmt: skip
def test_answers_that_differ_fail(right, answer):
    verdict = judged(right, answer)
    assert not verdict.passed and verdict.score == 0 and not verdict.error


def judged(right, answer):
    prompt = Prompt(id="maths:1", task="maths", text="?", answer=right)
    return Maths(Section(path="somewhere"), 0).judge(prompt, Answer(text=answer))


def test_a_right_answer_that_is_no_mathematics_is_an_error_of_the_data():
    with pytest.raises(ValueError, match=r"the right answer .* cannot be read as mathematics"):
        is_equal(r"\boxed{}", "42")


def test_a_pickled_task_carries_no_questions(tmp_path):
    task = Maths(Section(path=lines(tmp_path / "a.jsonl", sums(0, 1000))), 10)
    task.prompts()
    assert len(pickle.dumps(task)) < 1000
    assert pickle.loads(pickle.dumps(task)).held_out(10) == task.held_out(10)


def test_nothing_is_warned_of_without_a_reason(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Maths(Section(path=lines(tmp_path / "a.jsonl", sums(0, 10))), 2).prompts()
