"""A record as one line of strict JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def json_line(record: Mapping[str, Any]) -> bytes:
    r"""Write a record as one line; NaN and infinities become null, numpy's numbers plain ones.

    >>> json_line({"step": np.int64(3), "loss": float("nan"), "lags": np.array([0, 1])})
    b'{"step": 3, "loss": null, "lags": [0, 1]}\n'
    """
    try:
        text = _dumped(record)
    except (TypeError, ValueError):  # most records are plain already; walking through each would be slow
        text = _dumped(plain(record))
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:  # half a surrogate pair has no UTF-8, but an escape
        return f"{json.dumps(json.loads(text))}\n".encode()


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever a record holds
    """Make of a value what strict JSON can hold."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"{value!r} is a {type(value).__name__}, which JSON cannot hold")


def _dumped(record: Any) -> str:  # noqa: ANN401
    return json.dumps(record, allow_nan=False, ensure_ascii=False)
