"""Arithmetic in words, as a task of its own: a start and a few operations, with worked solutions for a warm start.

    python examples/arithmetic/task.py traces.jsonl 20000      worked solutions, some of them wrong

A real language model is warm-started on the traces and trained by recipe.toml beside this file.
"""

import json
import random
import sys
from pathlib import Path

from scalerl.records import Prompt, Verdict

WORDS = {"+": "Add", "-": "Subtract", "*": "Multiply by"}


class Arithmetic:
    """Chains of operations on whole numbers, of growing length."""

    name = "arithmetic"

    def __init__(self, num_prompts=4_000, steps=(2, 6), seed=0):
        self.num_prompts, self.steps, self.seed = num_prompts, tuple(steps), seed

    def prompts(self):
        return self._made("pool", self.num_prompts)

    def held_out(self, count):
        taken = {prompt.text for prompt in self.prompts()}
        return [one for one in self._made("held out", 2 * count) if one.text not in taken][:count]

    def judge(self, prompt, answer):
        is_right = answer.text.strip() == str(prompt.answer)
        return Verdict(score=float(is_right), passed=is_right)

    def _made(self, stream, count):
        chance = random.Random(f"{self.seed} {stream}")
        found = {}
        while len(found) < count:
            start, steps = drawn(chance, self.steps)
            text = question(start, steps)
            found[text] = Prompt(
                id=f"arithmetic:{start}{''.join(f'{op}{by}' for op, by in steps)}", task=self.name, text=text,
                answer=results(start, steps)[-1], difficulty=str(len(steps)),
            )  # fmt: skip
        return list(found.values())


def drawn(chance, steps):
    start, chain = chance.randint(10, 999), []
    value = start
    for _ in range(chance.randint(*steps)):
        op = chance.choice("++-*" if abs(value) < 1_000 else "+-")
        by = chance.randint(2, 9) if op == "*" else chance.randint(10, 999)
        chain.append((op, by))
        value = results(value, [(op, by)])[-1]
    return start, chain


def question(start, steps):
    return f"Start with {start}. " + " ".join(f"{WORDS[op]} {by}." for op, by in steps) + " What is the result?"


def results(start, steps):
    found = []
    for op, by in steps:
        start = {"+": start + by, "-": start - by, "*": start * by}[op]
        found.append(start)
    return found


def worked(start, steps, chance, wrong=0.02):
    """One line a step; now and then a wrong result, which is carried on."""
    lines, value = [], start
    for op, by in steps:
        right = results(value, [(op, by)])[-1]
        shown = right + chance.choice([-100, -10, -1, 1, 10, 100]) if chance.random() < wrong else right
        lines.append(f"{value} {op} {by} = {shown}")
        value = shown
    return "\n".join(lines) + "\n", str(value)


def main(path, count):
    chance = random.Random("traces")
    with Path(path).open("w") as out:
        for _ in range(int(count)):
            start, steps = drawn(chance, (2, 6))
            solution, answer = worked(start, steps, chance)
            out.write(
                json.dumps({"question": question(start, steps), "solution": solution, "answer": answer}) + "\n"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
