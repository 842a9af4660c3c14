"""The losses a recipe can name; the keys of a loss belong to its kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scalerl.recipe.knob import knob


@dataclass(frozen=True, kw_only=True, slots=True)
class Cispo:
    """REINFORCE weighted by the capped ratio: no token's gradient is ever zeroed (MiniMax-M1; ScaleRL's choice)."""

    kind: Literal["cispo"] = "cispo"
    cap: float = knob(5.0, "Largest ratio that counts as a weight. It is absolute, not an offset to 1.", at_least=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dapo:
    """The clipped surrogate with a wider clip above than below."""

    kind: Literal["dapo"] = "dapo"
    clip_low: float = knob(0.2, "Ratios below 1 - clip_low are clipped.", above=0, at_most=1)
    clip_high: float = knob(0.26, "Ratios above 1 + clip_high are clipped.", above=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Grpo:
    """The clipped surrogate with one clip on both sides."""

    kind: Literal["grpo"] = "grpo"
    clip: float = knob(0.2, "Ratios outside 1 - clip to 1 + clip are clipped.", above=0, below=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gspo:
    """The clipped surrogate on the length-normalised ratio of an answer; the clip must grow as answers shrink."""

    kind: Literal["gspo"] = "gspo"
    clip_low: float = knob(3e-3, "Sequence ratios below 1 - clip_low are clipped.", above=0, at_most=1)
    clip_high: float = knob(5e-3, "Sequence ratios above 1 + clip_high are clipped.", above=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reinforce:
    """The plain policy gradient, for reference: no ratio at all."""

    kind: Literal["reinforce"] = "reinforce"


Loss = Cispo | Dapo | Grpo | Gspo | Reinforce
