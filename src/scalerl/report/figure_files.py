"""A figure as a file, or as SVG inside a page."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from scalerl.report.atomic import suffix_of, write_atomically
from scalerl.report.axes import INK

SUFFIXES = (".png", ".svg")
DOTS_PER_INCH = 200


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format that the suffix of the file names, whole or not at all."""
    suffix = suffix_of(path, SUFFIXES)
    write_atomically(_drawn(figure, suffix[1:], is_transparent=False), path)


def inline_svg(figure: Figure, prefix: str) -> str:
    """A figure as an SVG element whose ids begin with a prefix, and whose ink is that of the text around it."""
    drawn = _drawn(figure, "svg", is_transparent=True).decode()
    element = drawn[drawn.index("<svg") :].rstrip()
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    element = re.sub(r'<g id="[^"]*"', "<g", element)  # names for people; what is referred to has other tags
    element = re.sub(r'\bid="', f'id="{prefix}-', element)
    element = re.sub(r"url\(#", f"url(#{prefix}-", element)
    element = re.sub(r'href="#', f'href="#{prefix}-', element)
    return element.replace(INK, "currentColor")


def _drawn(figure: Figure, kind: str, *, is_transparent: bool) -> bytes:
    """The bytes of a figure: the same for the same figure, so without a date and with a fixed salt for ids."""
    stream = io.BytesIO()
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "scalerl"}
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with mpl.rc_context(settings):
        figure.savefig(stream, format=kind, dpi=DOTS_PER_INCH, transparent=is_transparent, metadata=metadata)
    return stream.getvalue()
