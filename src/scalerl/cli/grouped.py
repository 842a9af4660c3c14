"""Commands that take their options in groups: frozen dataclasses, each option declared once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Show typer the fields of a command's groups as options, and hand the groups to the command.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Size:
    ...     width: int = 2
    >>> def show(name: str, size: Size) -> None:
    ...     print(name, size.width)
    >>> signature(grouped(show))
    <Signature (*, name: str, width: int = 2)>
    >>> grouped(show)(name="box", width=3)
    box 3
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    @wraps(command)
    def flat(**chosen: object) -> None:
        parts = {
            name: group(**{one.name: chosen.pop(one.name) for one in fields(group)})
            for name, group in groups.items()
        }
        command(**chosen, **parts)

    parameters = [
        part
        for own in signature(command).parameters.values()
        for part in (
            _parameters(groups[own.name])
            if own.name in groups
            else [own.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[own.name])]
        )
    ]
    flat.__signature__ = Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    flat.__annotations__ = {}
    return flat


def _parameters(group: Any) -> Iterator[Parameter]:  # noqa: ANN401 - any dataclass
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        yield Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            annotation=hints[field.name],
            default=Parameter.empty if default is MISSING else default,
        )
