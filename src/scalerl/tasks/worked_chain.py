"""Worked chains, for a warm start: steps in words, then the answer."""

from __future__ import annotations

from typing import Literal

import numpy as np

from scalerl.records import Prompt
from scalerl.tasks.chain import END, EQUALS, THINK_CLOSE, Question, Step

Style = Literal["verbose", "terse"]
WORDS_OF_A_STEP: dict[Style, int] = {"verbose": 6, "terse": 2}


def worked(
    prompt: Prompt,
    style: Style,
    rng: np.random.Generator,
    *,
    wrong_steps: float = 0.0,
    interrupted: float = 0.0,
) -> str:
    """What a model should write after the prompt: steps, the closing tag, a digit and the end.

    A share `wrong_steps` of results is wrong and carried on. A share `interrupted` of traces is cut before a word
    drawn uniformly; the answer is then the last result that was written, so that answering is always copying.

    >>> question = Prompt(id="chain:1", task="chain", text="3 a + 4 b x 5 ?", answer=None)
    >>> worked(question, "verbose", np.random.default_rng(0))
    'a 3 + 4 = 7 b 7 x 5 = 5 </think> 5 <end>'
    >>> worked(question, "terse", np.random.default_rng(0))
    'a 7 b 5 </think> 5 <end>'
    """
    question = Question.of(prompt.text)
    results = _results(question, rng, wrong_steps)
    lefts = [question.start, *results]
    words = [word for parts in zip(question.steps, lefts, results, strict=False) for word in _words(style, *parts)]
    if rng.random() < interrupted:
        words = words[: rng.integers(len(words))]
    return " ".join([*words, THINK_CLOSE, str(lefts[len(words) // WORDS_OF_A_STEP[style]]), END])


def _results(question: Question, rng: np.random.Generator, wrong_steps: float) -> list[int]:
    results: list[int] = []
    left = question.start
    for step in question.steps:
        left = step.result(left)
        if rng.random() < wrong_steps:
            left = (left + int(rng.integers(1, 10))) % 10
        results.append(left)
    return results


def _words(style: Style, step: Step, left: int, result: int) -> list[str]:
    if style == "terse":
        return [step.marker, str(result)]
    return [step.marker, str(left), step.operator, str(step.operand), EQUALS, str(result)]
