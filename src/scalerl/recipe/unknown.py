"""What to say of a key that does not exist."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from scalerl.errors import InputError
from scalerl.recipe.keys import keys_of, known_keys
from scalerl.recipe.toml_value import toml_string
from scalerl.recipe.where import Where, dotted

_LEAKS = (
    "is refused: tokens would be sampled from a cut distribution, the trainer would score them with the whole one, "
    "and the difference would leak into the ratio; leave it out (sampling.temperature is applied on both sides)"
)
_REFUSED: dict[tuple[str | int, ...], str] = {
    ("sampling", "top_p"): _LEAKS,
    ("sampling", "top_k"): _LEAKS,
    ("sampling", "min_p"): _LEAKS,
    ("extends",): "belongs at the top of a TOML file; here name the recipe itself",
}


def unknown_key(section: type, kinds: Mapping[str, type], where: Where) -> InputError:
    """The error for a key that its section, one of several kinds or the only one, does not have."""
    if reason := _REFUSED.get(where.key):
        return where.error(f"{where.dotted} {reason}")
    kind = next((name for name, one in kinds.items() if one is section), None)
    if kind is None:
        return where.error(f"unknown key {where.dotted}; {_instead(section, where)}")
    stated = f"{dotted(where.key[:-1])}.kind = {toml_string(kind)}"
    owners = [name for name, one in kinds.items() if where.key[-1] in keys_of(one)]
    if not owners:
        return where.error(f"unknown key {where.dotted}; {_instead(section, where)}; {stated} has {_own(section)}")
    belongs = " and ".join(f"{toml_string(name)} ({_own(kinds[name])})" for name in owners)
    return where.error(f"{where.dotted} belongs to kind {belongs}; {stated} has {_own(section)}")


def _instead(section: type, where: Where) -> str:
    """The closest key of the same section, else of another one, else all that the section has."""
    name, own = str(where.key[-1]), list(keys_of(section))
    near = get_close_matches(name, own, n=1) or [
        one for one in own if len(name) > 2 and (name in one or one in name)
    ]
    found = [dotted((*where.key[:-1], near[0]))] if near else _elsewhere(name)
    return f"did you mean {' or '.join(found)}?" if found else f"expected one of {', '.join(own)}"


def _elsewhere(name: str) -> list[str]:
    """Keys of other sections that are called the same, or very nearly so."""
    every = dict.fromkeys(known_keys())
    last = {one: one.rpartition(".")[2] for one in every}
    near = get_close_matches(name, last.values(), n=1, cutoff=0.8)
    return [one for one in every if last[one] in near]


def _own(section: type) -> str:
    return ", ".join(name for name in keys_of(section) if name != "kind") or "no keys"
