"""What a checkpoint holds: every part says its state, and takes it up again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from scalerl.errors import InputError
from scalerl.pipeline.backlog import Backlog
from scalerl.pipeline.parts import Parts

FACTS = "state.json"


class Remembering(Protocol):
    """Something small with a state that JSON can hold."""

    def state(self) -> Any:  # noqa: ANN401 - whatever JSON can hold
        """What has to be kept."""
        ...

    def restore(self, state: Any) -> None:  # noqa: ANN401
        """Go on from it."""
        ...


def save(folder: Path, parts: Parts, backlog: Backlog, small: Mapping[str, Remembering]) -> None:
    """Write the whole state of a run into an empty folder."""
    parts.trainer.save(folder)
    parts.court.save(folder)
    facts = {
        "untold": backlog.save(folder),
        "generator": parts.generator.save(folder),
        "staleness": parts.staleness.state(),
        "curriculum": parts.curriculum.state(),
        "ledger": parts.ledger.state(),
        **{name: one.state() for name, one in small.items()},
    }
    (folder / FACTS).write_text(json.dumps(facts))


def check(folder: Path, parts: Parts) -> None:
    """Refuse a checkpoint whose counters or prompts are not this run's, before anything else is touched."""
    facts = json.loads((folder / FACTS).read_text())
    parts.staleness.restore(facts["staleness"])
    parts.curriculum.restore(facts["curriculum"])


def load(folder: Path, parts: Parts, backlog: Backlog, small: Mapping[str, Remembering]) -> None:
    """Put every part back to where a checkpoint was taken."""
    facts = json.loads((folder / FACTS).read_text())
    parts.trainer.load(folder)
    parts.staleness.restore(facts["staleness"])
    parts.curriculum.restore(facts["curriculum"])
    parts.ledger.restore(facts["ledger"])
    for name, one in small.items():
        one.restore(facts[name])
    parts.generator.load(folder, facts["generator"])
    parts.court.load(folder)
    backlog.load(folder, facts.get("untold", ()), parts.court)


def take_over(folder: Path, parts: Parts) -> tuple[str, ...]:
    """Begin a new run where another stands: weights, moments, steps and compute; what was in flight stays behind.

    Says in words what could not be taken over.
    """
    facts = json.loads((folder / FACTS).read_text())
    parts.trainer.load(folder)
    counts = {key: facts["staleness"][key] for key in ("version", "num_admitted")}
    parts.staleness.restore(parts.staleness.state() | counts)
    parts.generator.follow(facts["generator"], parts.staleness.version)
    parts.ledger.restore(facts["ledger"])
    try:
        parts.curriculum.restore(facts["curriculum"])
    except InputError as problem:
        return (f"pass rates of prompts begin anew: {problem}",)
    return ()
