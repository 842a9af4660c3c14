"""Words for units of compute, as people write them."""

from __future__ import annotations

import re

from scalerl.scaling.curve import Unit

UNIT_COLUMNS: dict[str, Unit] = {
    "gpu_hours": "gpu_hours",
    "flops": "flops",
    "tokens": "tokens",
    "steps": "steps",
    "step": "steps",
}
_WORDS: tuple[tuple[str, Unit], ...] = (
    (r"gpu[\s_-]*h(ou)?rs?|gpu[\s_-]*h\b", "gpu_hours"),
    (r"flops?\b", "flops"),
    (r"tokens?\b", "tokens"),
    (r"steps?\b", "steps"),
)


def unit_in_words(words: str) -> Unit | None:
    """Tell which unit a phrase means.

    >>> unit_in_words("GPU-hours"), unit_in_words("optimizer steps"), unit_in_words("bananas")
    ('gpu_hours', 'steps', None)
    """
    found: list[Unit] = [unit for pattern, unit in _WORDS if re.search(pattern, words, re.IGNORECASE)]
    return found[0] if len(found) == 1 else None
