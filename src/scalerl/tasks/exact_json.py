"""Python data as JSON and back, with tuples still tuples and keys still numbers."""

from __future__ import annotations

from typing import Any, cast


def encoded(value: object) -> object:
    """The value as JSON can hold it.

    >>> encoded({"at": (1, 2)})
    {'dict': [['at', {'tuple': [1, 2]}]]}
    """
    if isinstance(value, tuple):
        return {"tuple": [encoded(one) for one in cast("tuple[object, ...]", value)]}
    if isinstance(value, list):
        return [encoded(one) for one in cast("list[object]", value)]
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return {"dict": [[encoded(key), encoded(one)] for key, one in pairs]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    # numpy's numbers say themselves as Python's
    return encoded(cast("Any", value).item()) if hasattr(value, "item") else _refused(value)


def decoded(value: object) -> Any:  # noqa: ANN401 - whatever was encoded
    """The value that was encoded.

    >>> decoded({"dict": [[1, {"tuple": [1, 2]}]]})
    {1: (1, 2)}
    """
    if isinstance(value, list):
        return [decoded(one) for one in cast("list[object]", value)]
    if isinstance(value, dict):
        ((kind, parts),) = cast("dict[str, list[Any]]", value).items()
        if kind == "tuple":
            return tuple(decoded(one) for one in parts)
        return {decoded(key): decoded(one) for key, one in parts}
    return value


def _refused(value: object) -> object:
    raise TypeError(f"a {type(value).__name__} cannot be kept as JSON")
