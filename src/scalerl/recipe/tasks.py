"""What can be asked: one class a kind of task, the keys belong to the kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from scalerl.recipe.knob import knob


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """Generated digit chains modulo ten; needs no data. Thinking length, difficulty and a ceiling are its own."""

    kind: Literal["chain"] = "chain"
    num_prompts: int = knob(1_000, "Size of the pool of training prompts.", at_least=1)
    steps: tuple[int, int] = knob((2, 8), "Fewest and most steps of a chain, drawn uniformly.", at_least=1)
    coin_flips: float = knob(
        0.0, "Share of prompts whose answer is a coin flip: they cap what can be learned.", at_least=0, at_most=1
    )
    seed: int = knob(0, "Which prompts are made.", at_least=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Maths:
    """Questions with an answer, from JSONL, parquet or a Hugging Face dataset folder, judged by math-verify."""

    kind: Literal["maths"] = "maths"
    path: str = knob("", "File or folder with the training prompts.")
    held_out_path: str = knob("", "File or folder with the held-out prompts; empty takes them out of `path`.")
    question: str = knob("question", "Column of the question.")
    answer: str = knob("answer", "Column of the answer.")
    id: str = knob("", "Column of a stable id; empty makes one from the question.")
    difficulty: str = knob("", "Column of a label for curves by difficulty; may be empty.")
    seconds: float = knob(5.0, "Longest time a judge may take for one answer.", above=0)


Credit = Literal["all", "share"]
Unusable = Literal["refuse", "skip"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Code:
    """Programming problems of a dataset; programs are run against tests in a sandbox."""

    kind: Literal["code"] = "code"
    path: str = knob("", "File or folder with the training problems; formats are told by their columns.")
    held_out_path: str = knob("", "File or folder with the held-out problems; empty takes them out of `path`.")
    instruction: str = knob(
        "Write {what}. Put the Python code into a fenced block (```); the last one counts.",
        "Last sentence of every prompt; `{what}` is a program or the named function. Empty for none.",
    )
    credit: Credit = knob("all", "Score of an answer: 1 where all tests are passed, or the share of tests.")
    seconds: float = knob(4.0, "Longest time of one test where the row states none.", at_least=0.1)
    answer_seconds: float = knob(
        60.0, "Longest time for all tests of one answer; what is not run then has failed by time.", above=0
    )
    memory_mib: int = knob(512, "Most memory of one test; a row that states more has more.", at_least=128)
    most_tests: int = knob(0, "Most tests of a problem, those with the longest input; 0 is all.", at_least=0)
    unusable: Unusable = knob("refuse", "A row that cannot be used ends the start, or is left out and counted.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Gym:
    """Any dataset of reasoning-gym with its own scorer."""

    kind: Literal["gym"] = "gym"
    dataset: str = knob("", "Name of the dataset, such as `chain_sum`.")
    options: dict[str, object] = field(
        default_factory=dict, metadata={"doc": "Options of that dataset, passed on as they are."}
    )
    num_prompts: int = knob(1_000, "Size of the pool of training prompts.", at_least=1)
    pass_at: float = knob(1.0, "An answer passes with at least this score.", above=0, at_most=1)
    seconds: float = knob(5.0, "Longest time a judge may take for one answer.", above=0)
    seed: int = knob(0, "Which prompts are made.", at_least=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Python:
    """A task of your own: a class in a Python file, see examples/task_of_your_own.py."""

    kind: Literal["python"] = "python"
    path: str = knob("", "The file, a colon, and the name of the class: `my_task.py:Reverse`.")
    options: dict[str, object] = field(default_factory=dict, metadata={"doc": "Keyword arguments of the class."})


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One task of a mixture."""

    name: str = knob("", "Name of the part: its prompts, tables and curves go under it.")
    weight: float = knob(1.0, "Share of each batch, relative to the other parts.", above=0)
    task: Chain | Maths | Code | Gym | Python = field(
        default_factory=Chain, metadata={"doc": "What this part asks: a task section of its own."}
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Mixture:
    """Several tasks, each with a fixed share of every batch and a validation curve of its own."""

    kind: Literal["mixture"] = "mixture"
    parts: tuple[Part, ...] = field(
        default_factory=tuple, metadata={"doc": "The tasks, as [[task.parts]] with name, weight and task."}
    )


Task = Chain | Maths | Code | Gym | Python | Mixture
