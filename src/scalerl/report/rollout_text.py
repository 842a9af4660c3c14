"""An answer taken apart for people: thinking, what was forced, the closing tag, the answer."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from scalerl.recipe.lengths import Interruption
from scalerl.recipe.recipe import Recipe
from scalerl.records import Rollout

Kind = Literal["thinking", "forced", "tag", "answer"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tags:
    """Where thinking ends, and what is forced when it is cut."""

    close: str = "</think>"
    phrase: str = "</think>"

    @classmethod
    def of(cls, recipe: Recipe) -> Tags:
        """As a recipe has them."""
        length, close = recipe.length, recipe.prompt.think_close
        phrase = length.phrase.replace("{close}", close) if isinstance(length, Interruption) else close
        return cls(close=close, phrase=phrase)


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """A stretch of an answer of one kind."""

    kind: Kind
    text: str


def pieces(rollout: Rollout, tags: Tags) -> tuple[Piece, ...]:
    """The stretches of an answer in their order, none of them empty; together they are its whole text.

    An interrupted answer had not closed its thinking, so the first place where the phrase stands is the forced one.
    """
    text = rollout.text
    if not tags.close:
        return _told([("answer", text)])
    forced = _phrase_in(text, tags.phrase) if rollout.is_interrupted else None
    if forced is not None:
        start, end = forced
        return _told([("thinking", text[:start]), ("forced", text[start:end]), ("answer", text[end:])])
    thinking, tag, answer = text.partition(tags.close)
    return _told([("thinking", thinking), ("tag", tag), ("answer", answer)])


def visible(text: str) -> str:
    r"""Text that is safe to print: signs that steer a terminal are written out.

    >>> visible("a\x1b[2J\tb")
    'a\\x1b[2J\tb'
    """
    return "".join(
        one if one in "\n\t" or unicodedata.category(one) not in {"Cc", "Cs"} else ascii(one)[1:-1] for one in text
    )


def _phrase_in(text: str, phrase: str) -> tuple[int, int] | None:
    """Where a phrase stands; a tokenizer may have put other blanks between its letters."""
    letters = [re.escape(one) for one in phrase if not one.isspace()]
    found = re.search(r"\s*".join(letters), text) if letters else None
    return found.span() if found else None


def _told(parts: list[tuple[Kind, str]]) -> tuple[Piece, ...]:
    return tuple(Piece(kind=kind, text=text) for kind, text in parts if text)
