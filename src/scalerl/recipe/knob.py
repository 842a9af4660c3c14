"""A field of a recipe with its one sentence and the values that are possible."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """The values a number may take; None is no bound."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None


def knob(
    default: Any = MISSING,  # noqa: ANN401 - dataclass fields hold any type
    doc: str = "",
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
) -> Any:  # noqa: ANN401
    """A dataclass field that carries its documentation and bounds, which reader and page of knobs both use."""
    bounds = Bounds(at_least=at_least, above=above, at_most=at_most, below=below)
    return field(default=default, metadata={"doc": doc, "bounds": bounds})


def section(factory: Any, doc: str) -> Any:  # noqa: ANN401
    """A dataclass field that holds a section of its own."""
    return field(default_factory=factory, metadata={"doc": doc})
