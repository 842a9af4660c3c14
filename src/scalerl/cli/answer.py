"""What a command found, before it is printed or written anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scalerl.cli.as_json import Json
    from scalerl.cli.headlines import Headline
    from scalerl.report.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The same result in every form there is; `warnings` are by the run they are about."""

    records: tuple[Json, ...]
    headlines: tuple[Headline, ...]
    tables: tuple[Table, ...]
    warnings: Mapping[str, tuple[str, ...]]
    figures: tuple[Callable[[], Figure], ...] = field(default=())
