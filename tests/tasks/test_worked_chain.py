"""Worked chains: right where they should be, wrong as often as asked, cut where the answer can be copied."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.records import Prompt
from scalerl.tasks.chain import MARKERS, VOCABULARY, Question, drawn
from scalerl.tasks.worked_chain import worked

NUMBERS = st.integers(0, 2**256 - 1)


def asked(number: int, steps: tuple[int, int] = (2, 8)) -> Prompt:
    return Prompt(id="chain:1", task="chain", text=drawn(number, steps).text, answer=None)


@given(NUMBERS, st.sampled_from(["verbose", "terse"]))
def test_without_mistakes_every_step_and_the_answer_are_right(number, style):
    prompt = asked(number)
    question = Question.of(prompt.text)
    words = worked(prompt, style, np.random.default_rng(0)).split()
    size = 6 if style == "verbose" else 2
    steps, ending = words[:-3], words[-3:]
    assert set(words) <= set(VOCABULARY) and ending == ["</think>", str(question.digit), "<end>"]
    assert len(steps) == size * len(question.steps)
    left = question.start
    for step, first in zip(question.steps, range(0, len(steps), size), strict=True):
        result = step.result(left)
        verbose = [step.marker, str(left), step.operator, str(step.operand), "=", str(result)]
        assert steps[first : first + size] == (verbose if style == "verbose" else [step.marker, str(result)])
        left = result


def test_so_many_steps_are_wrong_and_carried_on():
    rng = np.random.default_rng(1)
    num_steps = num_wrong = 0
    for number in range(3000):
        prompt = asked(number * 7919**30, (8, 8))
        words = worked(prompt, "terse", rng, wrong_steps=0.03).split()
        results = [int(word) for word in words[1:-3:2]]
        left = Question.of(prompt.text).start
        for step, result in zip(Question.of(prompt.text).steps, results, strict=True):
            num_wrong += result != step.result(left)
            num_steps, left = num_steps + 1, result
        assert int(words[-2]) == results[-1]
    assert abs(num_wrong / num_steps - 0.03) < 4 * (0.03 * 0.97 / num_steps) ** 0.5


@pytest.mark.parametrize(("style", "size"), [("verbose", 6), ("terse", 2)])
def test_interrupted_traces_are_beginnings_that_answer_with_the_last_result(style, size):
    rng = np.random.default_rng(2)
    lengths, num_cut = set(), 0
    for number in range(1000):
        prompt = asked(number * 7919**30, (4, 4))
        whole = worked(prompt, style, np.random.default_rng(0)).split()[:-3]
        *words, close, digit, end = worked(prompt, style, rng, interrupted=0.15).split()
        assert whole[: len(words)] == words and (close, end) == ("</think>", "<end>")
        num_done = len(words) // size
        assert digit == (words[num_done * size - 1] if num_done else prompt.text[0])
        num_cut += len(words) < len(whole)
        lengths.add(len(words))
    assert abs(num_cut / 1000 - 0.15) < 4 * (0.15 * 0.85 / 1000) ** 0.5
    assert lengths == set(range(4 * size + 1))


def test_the_longest_chain_has_a_marker_for_each_step():
    words = worked(asked(5, (16, 16)), "terse", np.random.default_rng(0)).split()
    assert tuple(words[:-3:2]) == MARKERS
