"""A table as Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from scalerl.report.atomic import suffix_of, write_atomically
from scalerl.report.table import Column, Number, Table
from scalerl.scaling.number_text import DASH

SUFFIXES = (".md", ".tex", ".csv")
LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "_": r"\_",
        "%": r"\%",
        "&": r"\&",
        "#": r"\#",
        "$": r"\$",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        DASH: "--",
    }
)
MARKDOWN = str.maketrans({"|": r"\|", "\n": " ", "<": "&lt;", ">": "&gt;", "*": r"\*", "_": r"\_", "`": r"\`"})


def write_table(table: Table, path: str | Path) -> None:
    """Write a table in the format that the suffix of the file names."""
    writers = {".md": to_markdown, ".tex": to_latex, ".csv": to_csv}
    write_atomically(writers[suffix_of(path, SUFFIXES)](table).encode(), path)


def to_markdown(table: Table) -> str:
    """Write a pipe table under a heading, with its notes below."""
    rule = ["---:" if column.align == "right" else ":---" for column in table.columns]
    heads = [column.title.translate(MARKDOWN) for column in table.columns]
    rows = [[text.translate(MARKDOWN) for text in row] for row in table.texts]
    lines = [f"| {' | '.join(row)} |" for row in (heads, rule, *rows)]
    notes = [f"\n{note.translate(MARKDOWN)}" for note in table.notes]
    return "\n".join([f"### {table.title.translate(MARKDOWN)}\n", *lines, *notes]) + "\n"


def to_latex(table: Table) -> str:
    """Write a table for the LaTeX package booktabs."""
    align = "".join(column.align[0] for column in table.columns)
    caption = " ".join([f"{table.title}.", *table.notes]).translate(LATEX)
    rows = [[text.translate(LATEX) for text in row] for row in table.texts]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{caption}}}",
            rf"  \begin{{tabular}}{{{align}}}",
            r"    \toprule",
            _latex_row([_heading(column) for column in table.columns]),
            r"    \midrule",
            *(_latex_row(row) for row in rows),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def to_csv(table: Table) -> str:
    """Write the numbers themselves at full precision, an empty field where there is none."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([field for column in table.columns for field in column.fields])
    writer.writerows([_plain(part) for cell in row for part in cell.numbers] for row in table.rows)
    return stream.getvalue()


def _heading(column: Column) -> str:
    title = column.title.translate(LATEX)
    if column.symbol is None:
        return title
    _, bracket, unit = title.partition(" (")
    return f"{column.symbol}{bracket and f' ({unit}'}"


def _latex_row(cells: Sequence[str]) -> str:
    return f"    {' & '.join(cells)} \\\\"


def _plain(part: Number) -> str:
    """Numbers as Python writes them, which reads back to the same number."""
    return "" if part is None else part if isinstance(part, str) else repr(float(part))
