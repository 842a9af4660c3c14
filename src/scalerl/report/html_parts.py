"""Pieces of a page, each from plain text to escaped HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from matplotlib.figure import Figure

from scalerl.report.figure_files import inline_svg
from scalerl.report.table import Table

PIXELS_PER_INCH = 112  # on a wide screen; on a narrow one a figure takes the width there is


def paragraph(text: str, kind: str | None = None) -> str:
    """A paragraph of plain text."""
    return f"<p{_class(kind)}>{escape(text)}</p>"


def heading(text: str, rank: int) -> str:
    """A heading of plain text."""
    return f"<h{rank}>{escape(text)}</h{rank}>"


def bullets(texts: Sequence[str], kind: str | None = None) -> str:
    """A list of plain texts, nothing where there are none."""
    return f"<ul{_class(kind)}>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>" if texts else ""


def table_part(table: Table) -> str:
    """A table in a container of its own that scrolls where the screen is narrow."""
    kinds = ["number" if column.align == "right" else "word" for column in table.columns]
    heads = [
        f'<th scope="col" class="{kind}">{escape(column.title)}</th>'
        for kind, column in zip(kinds, table.columns, strict=True)
    ]
    rows = [
        "".join(f'<td class="{kind}">{escape(text)}</td>' for kind, text in zip(kinds, row, strict=True))
        for row in table.texts
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    notes = paragraph(" ".join(table.notes), "notes") if table.notes else ""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(table.title)}"><table>'
        f"<caption>{escape(table.title)}</caption>"
        f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{body}</tbody></table></div>{notes}"
    )


def figure_part(figure: Figure, name: str, words: str, caption: str = "") -> str:
    """A figure as inline SVG: `name` makes its ids its own, `words` say what it shows to who cannot see it."""
    drawn = inline_svg(figure, name).replace("<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1)
    width = round(figure.get_figwidth() * PIXELS_PER_INCH)
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure style="max-width:{width}px">{drawn}{below}</figure>'


def section(parts: Sequence[str], anchor: str) -> str:
    """A card."""
    return f'<section id="{escape(anchor)}">{"".join(parts)}</section>'


def details(summary: str, parts: Sequence[str], *, is_open: bool = False) -> str:
    """Parts that a reader opens or closes."""
    return f"<details{' open' if is_open else ''}><summary>{escape(summary)}</summary>{''.join(parts)}</details>"


def _class(kind: str | None) -> str:
    return "" if kind is None else f' class="{kind}"'
