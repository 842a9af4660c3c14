"""Make the shipped programming problems: small programs of one to six steps over a number, a list or a word.

    python examples/make_code_problems.py [FOLDER]

A problem is a statement in short sentences, one a step, and tests. No step is idle, and tests fail every program
that leaves a step out, has a number off by one, takes a neighbouring operation, ends in another way or, where that
matters, exchanges two steps. Half a minute; the same files on every machine.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from code_steps import KINDS, LETTERS, End, Kind, Operation

HERE = Path(__file__).parent.parent / "src" / "scalerl" / "demo_code"
SIZES = {"held_out": 300, "train": 2_400}
DIFFICULTIES = range(1, 7)
NUM_INPUTS, LARGEST, LONGEST = 24, 10**7, 40
FEWEST_TESTS, MOST_TESTS = 3, 5
CONSTANTS = range(2, 10)
NUM_TRIES = 20
Tests = list[tuple[Any, Any]]  # an input and what should come of it


@dataclass(frozen=True, kw_only=True)
class Step:
    operation: Operation
    k: int
    c: str
    d: str

    @property
    def text(self) -> str:
        return self._filled(self.operation.text)

    def code(self, is_short: bool) -> str:
        return self._filled(self.operation.short if is_short else self.operation.long)

    def _filled(self, words: str) -> str:
        return words.format(k=self.k, c=self.c, d=self.d)


@dataclass(frozen=True, kw_only=True)
class Problem:
    kind: Kind
    steps: tuple[Step, ...]
    end: End
    is_call: bool

    @property
    def statement(self) -> str:
        first = self.kind.given if self.is_call else self.kind.asked
        last = f"{'Return' if self.is_call else 'Print'} {self.end.text}."
        return " ".join([first, *(step.text for step in self.steps), last])

    def program(self, is_short: bool = True) -> str:
        """A solution: a line or two a step, short or long."""
        steps = [step.code(is_short) for step in self.steps]
        if not self.is_call:
            return "\n".join([self.kind.read, *steps, f"print({self.end.printed})"])
        body = "\n".join([*steps, f"return {self.end.returned}"]).replace("\n", "\n    ")
        return f"def solve({self.kind.variable}):\n    {body}"


def drawn(random: Random, kind: Kind, difficulty: int) -> Problem:
    """Some problem of so many steps; it may have idle ones."""
    steps = tuple(step(random, random.choice(kind.operations)) for _ in range(difficulty))
    return Problem(kind=kind, steps=steps, end=random.choice(kind.ends), is_call=random.random() < 0.3)


def step(random: Random, operation: Operation) -> Step:
    c, d = random.sample(LETTERS, 2)
    return Step(operation=operation, k=random.choice(CONSTANTS), c=c, d=d)


def wrong_steps(kind: Kind, one: Step) -> Iterator[tuple[Step, ...]]:
    """What a careless programmer might write for a step."""
    yield ()
    place = kind.operations.index(one.operation)
    for near in (place - 1, place + 1):
        yield (replace(one, operation=kind.operations[near % len(kind.operations)]),)
    if "{k}" in one.operation.text:
        yield from ((replace(one, k=one.k + by),) for by in (-1, 1))
    if "{c}" in one.operation.text:
        yield (replace(one, c=one.d, d=one.c),)


def wrong(problem: Problem) -> Iterator[Problem]:
    """Programs that a test should tell from the right one."""
    for place, one in enumerate(problem.steps):
        for instead in wrong_steps(problem.kind, one):
            yield replace(problem, steps=(*problem.steps[:place], *instead, *problem.steps[place + 1 :]))
    yield from (replace(problem, end=end) for end in problem.kind.ends if end != problem.end)


def exchanged(problem: Problem) -> Iterator[Problem]:
    """The same steps with two neighbours in the other order: these may do the same."""
    steps = problem.steps
    for place in range(len(steps) - 1):
        yield replace(problem, steps=(*steps[:place], steps[place + 1], steps[place], *steps[place + 2 :]))


def results(problem: Problem, inputs: list[Any], is_short: bool = True) -> list[Any]:
    """What our own program makes of each input; None where it fails."""
    names: dict[str, Any] = {}
    exec(replace(problem, is_call=True).program(is_short), names)
    found = []
    for value in inputs:
        try:
            found.append(names["solve"](value[:] if isinstance(value, list) else value))
        except (ValueError, OverflowError):  # the largest of nothing; a number squared again and again
            found.append(None)
    return found


def tests(random: Random, problem: Problem) -> Tests | None:
    """Few inputs that tell every wrong program from this one; None where there are none or answers are unhandy."""
    inputs = [problem.kind.drawn(random) for _ in range(NUM_INPUTS)]
    right = results(problem, inputs)
    usable = [place for place, one in enumerate(right) if is_handy(one)]

    def failing(other: Problem) -> set[int]:
        found = results(other, inputs)
        return {place for place in usable if found[place] != right[place]}

    told_apart = [failing(other) for other in wrong(problem)]
    if not all(told_apart):
        return None
    chosen = cover(usable, right, [*told_apart, *filter(None, map(failing, exchanged(problem)))])
    return [(inputs[place], right[place]) for place in chosen] if chosen else None


def cover(usable: list[int], right: list[Any], sets: list[set[int]]) -> list[int]:
    """Places with different answers, one in every set, taken greedily; none where that needs too many."""
    chosen: list[int] = []
    while len(chosen) < FEWEST_TESTS or any(one.isdisjoint(chosen) for one in sets):
        left = [place for place in usable if right[place] not in [right[one] for one in chosen]]
        if not left or len(chosen) == MOST_TESTS:
            return []
        open_sets = [one for one in sets if one.isdisjoint(chosen)]
        chosen.append(max(left, key=lambda place: sum(place in one for one in open_sets)))
    return chosen


def is_handy(answer: Any) -> bool:
    """Whether an answer is there, is not empty and not too long."""
    if isinstance(answer, int):
        return abs(answer) <= LARGEST
    if isinstance(answer, list):
        return bool(answer) and len(answer) <= 8 and all(map(is_handy, answer))
    return bool(answer) and len(answer) <= LONGEST


def problems(seed: int) -> Iterator[tuple[Problem, Tests]]:
    """Different problems with their tests, of one difficulty after the other, without end."""
    random, seen = Random(seed), set[str]()
    while True:
        for difficulty in DIFFICULTIES:
            problem, found = new(random, difficulty, seen)
            seen.add(problem.statement)
            yield problem, found


def new(random: Random, difficulty: int, seen: set[str]) -> tuple[Problem, Tests]:
    """A problem that was not seen. Of some kinds few are good: after some tries another kind has its turn."""
    while True:
        kind = random.choice(KINDS)
        for _ in range(NUM_TRIES):
            problem = drawn(random, kind, difficulty)
            if problem.statement not in seen and (found := tests(random, problem)):
                return problem, found


def row(problem: Problem, found: Tests) -> dict[str, Any]:
    """A problem as a line of a dataset."""
    difficulty = str(len(problem.steps))
    if problem.is_call:
        calls = [{"arguments": [value], "result": result} for value, result in found]
        return {"prompt": problem.statement, "entry": "solve", "tests": calls, "difficulty": difficulty}
    lines = [{"stdin": f"{typed(value)}\n", "stdout": f"{typed(result)}\n"} for value, result in found]
    return {"prompt": problem.statement, "tests": lines, "difficulty": difficulty}


def typed(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def main(folder: Path = HERE) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    made = problems(seed=0)
    for name, size in SIZES.items():
        lines = [json.dumps(row(*one), separators=(",", ":")) for one in islice(made, size)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
