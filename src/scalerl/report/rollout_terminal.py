"""Rollouts on a terminal, or as plain text where there is none."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from scalerl.report.rollout_facts import expected, facts, problem, reason, title
from scalerl.report.rollout_reading import Recorded
from scalerl.report.rollout_text import Kind, Piece, Tags, pieces, visible
from scalerl.report.terminal import WIDEST_TEXT

MOST_LETTERS = 3_000
"""Of one stretch of an answer; the middle of what is longer is left out on a terminal."""
_STYLES: dict[Kind, str] = {"thinking": "", "forced": "reverse", "tag": "dim", "answer": "bold"}
_LABEL = 10
"""Width of what stands before each stretch."""


def show_rollout(out: Console, one: Recorded, tags: Tags) -> None:
    """Print one rollout: what was asked, what was thought, forced and answered, and what it was worth."""
    rollout = one.rollout
    out.print()
    out.print(Text(visible(title(one)), style="bold"), soft_wrap=True)
    _show(out, "prompt", one.group.prompt.text, "")
    for piece in pieces(rollout, tags):
        _show(out, piece.kind, _clipped(piece), _STYLES[piece.kind])
    _show(out, "expected", expected(one.group.prompt.answer), "dim")
    if reason(rollout):
        _show(out, "reason", reason(rollout), "")
    if problem(rollout):
        _show(out, "error", problem(rollout), "yellow")
    _show(out, "", facts(one), "green" if rollout.passed else "red")


def _show(out: Console, label: str, words: str, style: str) -> None:
    room = max(20, min(out.width, WIDEST_TEXT) - _LABEL - 2)
    for number, line in enumerate(_lines(visible(words), room)):
        before = Text(f"  {label if number == 0 else '':<{_LABEL}}", style="dim")
        out.print(before.append(line, style=f"not dim {style}".strip()), soft_wrap=True)


def _lines(words: str, width: int) -> Iterator[str]:
    for line in words.strip().splitlines() or [""]:
        yield from textwrap.wrap(line, width, replace_whitespace=False) or [""]


def _clipped(piece: Piece) -> str:
    text, half = piece.text, MOST_LETTERS // 2
    if len(text) <= MOST_LETTERS:
        return text
    left_out = f"[... {len(text) - 2 * half:,} letters; a page with -o has them ...]"
    return f"{text[:half]}\n{left_out}\n{text[-half:]}"
