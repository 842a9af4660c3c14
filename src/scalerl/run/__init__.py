"""One run is one directory: its lock, its logs, its checkpoints, and how it goes on after a crash."""

from __future__ import annotations

from scalerl.run.checkpoints import Checkpoint
from scalerl.run.cutting import Cut
from scalerl.run.directory import Run, is_run
from scalerl.run.durable import WriteError
from scalerl.run.groups import group_lines, group_of, group_record, read_groups

__all__ = [
    "Checkpoint",
    "Cut",
    "Run",
    "WriteError",
    "group_lines",
    "group_of",
    "group_record",
    "is_run",
    "read_groups",
]
