"""Digit chains modulo ten: generated questions with thinking length, difficulty and a ceiling of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count as count_from
from itertools import islice

from scalerl.errors import InputError
from scalerl.recipe import tasks as recipe
from scalerl.records import Prompt, Verdict
from scalerl.tasks import stable_hash
from scalerl.tasks.task import Answer

PAD, END, THINK_CLOSE, ASK, EQUALS = "<pad>", "<end>", "</think>", "?", "="
DIGITS = tuple("0123456789")
OPERATORS = ("+", "-", "x")
MARKERS = tuple("abcdefghijklmnop")
VOCABULARY = (PAD, END, THINK_CLOSE, ASK, EQUALS, *DIGITS, *OPERATORS, *MARKERS)
"""Every word of questions, worked steps and answers, in the order of their token ids."""

COIN = "coin"
"""Difficulty of prompts whose answer is a coin flip."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One operation of a chain; the marker is the word by which worked steps point at it."""

    marker: str
    operator: str
    operand: int

    def result(self, left: int) -> int:
        """The digit that it makes of the one before."""
        match self.operator:
            case "+":
                return (left + self.operand) % 10
            case "-":
                return (left - self.operand) % 10
            case _:
                return (left * self.operand) % 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A first digit and the steps that follow, worked from left to right.

    >>> question = Question.of("3 a + 4 b x 5 ?")
    >>> question.text, question.digit
    ('3 a + 4 b x 5 ?', 5)
    """

    start: int
    steps: tuple[Step, ...]

    @staticmethod
    def of(text: str) -> Question:
        """Read a question back."""
        start, *words = text.removesuffix(ASK).split()
        parts = zip(words[::3], words[1::3], words[2::3], strict=True)
        steps = (Step(marker=marker, operator=op, operand=int(digit)) for marker, op, digit in parts)
        return Question(start=int(start), steps=tuple(steps))

    @property
    def text(self) -> str:
        """The question, words of the vocabulary with blanks between them."""
        steps = [f"{step.marker} {step.operator} {step.operand}" for step in self.steps]
        return " ".join([str(self.start), *steps, ASK])

    @property
    def digit(self) -> int:
        """The right answer."""
        digit = self.start
        for step in self.steps:
            digit = step.result(digit)
        return digit


class Chain:
    """Chains of a recipe, drawn by hashing: alike on every machine and with every version of every library."""

    name = "chain"

    def __init__(self, section: recipe.Chain) -> None:
        low, high = section.steps
        if not 1 <= low <= high <= len(MARKERS):
            raise InputError(
                f"task.steps is {[low, high]}; expected two numbers from 1 to {len(MARKERS)}, ascending"
            )
        self.section = section

    def prompts(self) -> Sequence[Prompt]:
        """The pool: distinct chains, exactly the share of coin flips among them."""
        return self._made("pool", self.section.num_prompts, taken=set())

    def held_out(self, count: int) -> Sequence[Prompt]:
        """The first chains of another stream that are not in the pool."""
        pool = {prompt.text for prompt in self.prompts()}
        return self._made("held out", count, taken=pool)

    def judge(self, prompt: Prompt, answer: Answer) -> Verdict:
        """Passed by the right digit and nothing else, or by a coin that falls anew for each rollout."""
        if prompt.answer["coin"]:
            passed = stable_hash.coin(self.name, prompt.id, answer.nonce)
        else:
            passed = answer.text.strip().removesuffix(END).strip() == str(prompt.answer["digit"])
        return Verdict(score=float(passed), passed=passed)

    def _made(self, stream: str, count: int, *, taken: set[str]) -> list[Prompt]:
        low, high = self.section.steps
        if (wanted := count + len(taken)) > (there_are := sum(10 * 30**num for num in range(low, high + 1))):
            message = f"only {there_are} different chains have task.steps = {[low, high]}"
            raise InputError(f"{message}; {wanted} are asked for: lower task.num_prompts or allow more steps")
        questions = islice(self._distinct(stream, taken), count)
        return [self._prompt(question, index) for index, question in enumerate(questions)]

    def _distinct(self, stream: str, taken: set[str]) -> Iterator[Question]:
        seen = set(taken)
        for attempt in count_from(0):
            question = drawn(stable_hash.number(self.name, self.section.seed, stream, attempt), self.section.steps)
            if question.text not in seen:
                seen.add(question.text)
                yield question

    def _prompt(self, question: Question, index: int) -> Prompt:
        # A running total that rounds up here makes every beginning of the list hold its exact share of coins.
        share = self.section.coin_flips
        is_coin = round(share * (index + 1)) > round(share * index)
        return Prompt(
            id=f"{self.name}:{stable_hash.label(question.text)}",
            task=self.name,
            text=question.text,
            answer={"digit": question.digit, "coin": is_coin},
            difficulty=COIN if is_coin else str(len(question.steps)),
        )


def drawn(number: int, steps: tuple[int, int]) -> Question:
    """The chain that a large random number stands for: its remainders choose length, digits and operators."""
    low, high = steps
    number, extra = divmod(number, high - low + 1)
    number, start = divmod(number, 10)
    made: list[Step] = []
    for marker in MARKERS[: low + extra]:
        number, operator = divmod(number, len(OPERATORS))
        number, operand = divmod(number, 10)
        made.append(Step(marker=marker, operator=OPERATORS[operator], operand=operand))
    return Question(start=start, steps=tuple(made))
