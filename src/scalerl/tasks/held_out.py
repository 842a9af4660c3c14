"""The prompts of a dataset divided: those to train on, and those held out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from scalerl.errors import InputError
from scalerl.records import Prompt
from scalerl.tasks import stable_hash
from scalerl.tasks.distinct import same_text

NUM_SHOWN = 80  # letters of a question that an error shows


@dataclass(frozen=True, kw_only=True, slots=True)
class Divided:
    """A pool in the order of its file, and held-out prompts in the order of a hash."""

    pool: Sequence[Prompt]
    held_out: Sequence[Prompt]
    is_own_file: bool
    """Whether the held-out prompts have a file of their own."""

    def first(self, count: int) -> Sequence[Prompt]:
        """So many held-out prompts; a held-out file with fewer gives all it has."""
        if count > len(self.held_out) and not self.is_own_file:
            raise InputError(f"{count} held-out prompts are asked for, but {len(self.held_out)} were set aside")
        return self.held_out[:count]


def divided(
    read: Callable[[str, str], Sequence[Prompt]],
    *,
    task: str,
    path: str,
    held_out_path: str,
    num_held_out: int,
    key: Callable[[Prompt], str] = attrgetter("text"),
) -> Divided:
    """Read a dataset, and its held-out file or else take prompts out of it; ids begin with the task's name.

    `read` takes a path and what ids begin with. The key of a prompt decides whether it is held out: another order
    of the file, or a few more questions, hold out (nearly) the same ones.
    """
    pool = read(path, f"{task}:")
    if held_out_path:
        own = read(held_out_path, f"{task}:held-out/")
        _refuse_overlap(pool, own, path, held_out_path)
        return Divided(pool=pool, held_out=_shuffled(own, key), is_own_file=True)
    if len(pool) < 2 * num_held_out:
        message = f"holds {len(pool)} questions, too few to hold out {num_held_out} and train on as many"
        raise InputError(f"{message}; lower evaluation.prompts or give task.held_out_path", file=path)
    held_out = _shuffled(pool, key)[:num_held_out]
    names = {prompt.id for prompt in held_out}
    rest = [prompt for prompt in pool if prompt.id not in names]
    return Divided(pool=rest, held_out=held_out, is_own_file=False)


def _shuffled(prompts: Iterable[Prompt], key: Callable[[Prompt], str]) -> list[Prompt]:
    return sorted(prompts, key=lambda prompt: stable_hash.label("held out", key(prompt)))


def _refuse_overlap(pool: Iterable[Prompt], held_out: Iterable[Prompt], path: str, held_out_path: str) -> None:
    trained = {same_text(prompt.text) for prompt in pool}
    if both := [prompt for prompt in held_out if same_text(prompt.text) in trained]:
        first = f"{both[0].text[:NUM_SHOWN]!r}"
        message = f"{len(both)} held-out questions are also in {path}, the first is {first}"
        raise InputError(f"{message}; take them out of one of the two", file=held_out_path)
