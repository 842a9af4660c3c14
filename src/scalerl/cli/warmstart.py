"""`scalerl warmstart`: a model fine-tuned on worked solutions, ready for reinforcement."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from typer import Argument, Option

from scalerl.cli.counts import count
from scalerl.cli.model_argument import said_as
from scalerl.cli.numbers import one_of, positive
from scalerl.cli.output import note
from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.pipeline.warming import Warmed, Warming
    from scalerl.recipe.sections import Device, DType, PromptFormat
    from scalerl.trainer.examples import Columns

EXAMPLE = "Example: scalerl warmstart models/smol solved.jsonl --out models/warm --epochs 3"
DEVICES, DTYPES = ("auto", "cpu", "cuda"), ("auto", "float32", "bfloat16")
TENTH = 10
"""Where there is no terminal a line is written at each of so many parts of the way."""
_PANEL = "Data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """What an example is made of."""

    question: Annotated[str, Option(metavar="COL", help="Column of the question.", rich_help_panel=_PANEL)] = (
        "question"
    )
    solution: Annotated[str, Option(metavar="COL", help="Column of the solution.", rich_help_panel=_PANEL)] = (
        "solution"
    )
    answer: Annotated[
        str, Option(metavar="COL", help="Column of what follows the closing tag.", rich_help_panel=_PANEL)
    ] = ""
    think_open: Annotated[
        str, Option(metavar="TAG", help="What every answer begins with.", rich_help_panel=_PANEL)
    ] = ""
    think_close: Annotated[str, Option(metavar="TAG", help="What ends thinking.", rich_help_panel=_PANEL)] = (
        "</think>"
    )
    system: Annotated[str, Option(metavar="WORDS", help="System message of the chat.", rich_help_panel=_PANEL)] = ""
    plain: Annotated[bool, Option("--plain", help="Ask without the chat template.", rich_help_panel=_PANEL)] = False

    def columns(self) -> Columns:
        """Where things stand in a row."""
        from scalerl.trainer.examples import Columns

        return Columns(question=self.question, solution=self.solution, answer=self.answer)

    def prompt(self) -> PromptFormat:
        """How a question becomes tokens; examples that are too long are left out later."""
        from scalerl.recipe.sections import PromptFormat

        return PromptFormat(
            chat_template=not self.plain,
            system=self.system,
            opening=self.think_open,
            think_close=self.think_close,
            max_tokens=sys.maxsize,
        )


def warmstart(
    model: Annotated[
        str, Argument(metavar="MODEL", help="Hugging Face folder, .gguf or demo.", show_default=False)
    ],
    data: Annotated[
        str, Argument(metavar="DATA", help="Worked solutions: .jsonl or .parquet.", show_default=False)
    ],
    *,
    out: Annotated[str, Option("--out", metavar="DIR", help="New folder to write.", show_default=False)],
    epochs: Annotated[str, Option(metavar="N", help="Times through the data.")] = "1",
    rate: Annotated[str, Option(metavar="R", help="Learning rate.")] = "2e-5",
    batch: Annotated[str, Option(metavar="N", help="Examples of one step.")] = "32",
    max_tokens: Annotated[str, Option(metavar="N", help="Leave out longer examples.")] = "4096",
    seed: Annotated[str, Option(metavar="N", help="Order of the data.")] = "0",
    device: Annotated[str, Option(metavar="NAME", help=f"{', '.join(DEVICES)}.")] = "auto",
    dtype: Annotated[str, Option(metavar="TYPE", help=f"Of body and file: {', '.join(DTYPES)}.")] = "auto",
    parts: Data,
) -> None:
    """Fine-tune a model on worked solutions, so that it thinks, closes its tag and answers."""
    chosen_device = cast("Device", one_of("--device", device, DEVICES))
    chosen_dtype = cast("DType", one_of("--dtype", dtype, DTYPES))
    numbers = {
        "epochs": count("--epochs", epochs),
        "batch": count("--batch", batch),
        "max_tokens": count("--max-tokens", max_tokens, at_least=2),
        "seed": count("--seed", seed, at_least=0),
    }
    speed = positive("--rate", rate, "a positive number such as 2e-5")

    from scalerl.pipeline.warming import Warming, warm
    from scalerl.recipe.sections import Model
    from scalerl.trainer.finite import NonFiniteError

    warming = Warming(
        model=Model(path=model, dtype=chosen_dtype),
        prompt=parts.prompt(),
        columns=parts.columns(),
        rate=speed,
        device=chosen_device,
        **numbers,
    )
    try:
        with said_as("MODEL"):
            warmed = warm(data, Path(out), warming, _watcher())
    except NonFiniteError as problem:
        raise InputError(f"{problem}; nothing was written, try a lower --rate") from problem
    _say(warmed, warming, out)


def _watcher() -> Callable[[int, int, float], None]:
    """One line that is written over on a terminal, else a line now and then."""
    is_terminal = sys.stderr.isatty()

    def watch(step: int, total: int, loss: float) -> None:
        words = f"step {step:,} of {total:,}, loss {loss:.4f}"
        if is_terminal:
            print(f"\r\x1b[K{words}", end="\n" if step == total else "", file=sys.stderr, flush=True)
        elif step in (1, total) or step * TENTH // total > (step - 1) * TENTH // total:
            note(words)

    return watch


def _say(warmed: Warmed, warming: Warming, out: str) -> None:
    if warmed.num_too_long:
        note(f"{warmed.num_too_long:,} examples have more than {warming.max_tokens:,} tokens and were left out")
    if warmed.added:
        note(f"{', '.join(warmed.added)}: added to the tokenizer, one token each")
    note(
        f"wrote {out}: {warmed.num_examples:,} examples, {warmed.num_steps:,} steps, loss {warmed.first_loss:.3f} "
        f"to {warmed.last_loss:.3f}; train it with, for instance:"
    )
    note(_command(warming.prompt, out))


def _command(prompt: PromptFormat, out: str) -> str:
    """What trains the model as it was asked here, to be pasted into a shell."""
    from scalerl.recipe.sections import PromptFormat

    usual = PromptFormat()
    keys = ("chat_template", "system", "opening", "think_close")
    changed = [name for name in keys if getattr(prompt, name) != getattr(usual, name)]
    settings = [f"model.path={out}", *(f"prompt.{name}={json.dumps(getattr(prompt, name))}" for name in changed)]
    return shlex.join(["scalerl", "train", "scalerl", *(word for one in settings for word in ("--set", one))])
