"""How numbers are written, in one place: 0.612, 0.58–0.64, 12,300, 1.97e19, 87%, never, 1.8x."""

# ruff: noqa: RUF002 - the en dash is what people read

from __future__ import annotations

import math
from collections.abc import Callable

from scalerl.scaling.estimate import Estimate

NEVER = "never"
DASH = "\N{EN DASH}"
UNKNOWN = DASH
LARGEST_PLAIN = 1e7  # above it a compute is written with an exponent
NARROW = 0.03  # an interval narrower than this takes a third digit, or both ends would read the same


def value_text(value: float) -> str:
    """A pass rate.

    >>> value_text(0.61249)
    '0.612'
    """
    return f"{value:.3f}"


def interval_text(low: float, high: float) -> str:
    """The two ends of an interval of pass rates.

    >>> interval_text(0.5812, 0.6391), interval_text(0.6081, 0.6142), interval_text(0.6121, 0.6124)
    ('0.58–0.64', '0.608–0.614', '0.6121–0.6124')
    """
    digits = 2 if high - low >= NARROW else 3 if high - low >= NARROW / 10 else 4
    return f"{low:.{digits}f}{DASH}{high:.{digits}f}"


def difference_text(difference: float) -> str:
    """A difference of pass rates, with its sign.

    >>> difference_text(0.0234), difference_text(-0.1)
    ('+0.023', '-0.100')
    """
    return f"{difference:+.3f}"


def difference_interval_text(low: float, high: float) -> str:
    """The two ends of an interval that may lie on both sides of zero.

    >>> difference_interval_text(-0.01, 0.03)
    '-0.010 to +0.030'
    """
    return f"{difference_text(low)} to {difference_text(high)}"


def compute_text(compute: float | None) -> str:
    """An amount of compute; whole numbers as they are, others to three digits; None is never.

    >>> compute_text(12300), compute_text(2542.37), compute_text(1.97e19), compute_text(0.1234), compute_text(None)
    ('12,300', '2,540', '1.97e19', '0.123', 'never')
    """
    if compute is None:
        return NEVER
    if abs(compute) >= LARGEST_PLAIN:
        mantissa, exponent = f"{compute:.2e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    if compute == int(compute):
        return f"{compute:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(compute))))
    return f"{float(f'{compute:.3g}'):,.{min(digits, 9)}f}"


def compute_interval_text(low: float | None, high: float | None) -> str:
    """The two ends of an interval of compute.

    >>> compute_interval_text(2104.2, None), compute_interval_text(None, None)
    ('2,100–never', 'never')
    """
    return NEVER if low is None else f"{compute_text(low)}{DASH}{compute_text(high)}"


def probability_text(probability: float) -> str:
    """A probability; what rounds to none or all is not claimed.

    >>> probability_text(0.874), probability_text(0.995), probability_text(0.0)
    ('87%', '>99%', '<1%')
    """
    text = f"{probability:.0%}"
    return {"100%": ">99%", "0%": "<1%"}.get(text, text)


def level_text(level: float) -> str:
    """The probability that an interval is meant to hold.

    >>> level_text(0.9), level_text(0.975)
    ('90%', '97.5%')
    """
    return f"{100 * level:.4g}%"


def ratio_text(ratio: float) -> str:
    """How many times as much.

    >>> ratio_text(1.8349), ratio_text(12.3), ratio_text(120.7)
    ('1.8x', '12x', '121x')
    """
    return f"{ratio:.2g}x" if ratio < 99.5 else f"{ratio:,.0f}x"


def steepness_text(rate: float) -> str:
    """An efficiency.

    >>> steepness_text(1.924)
    '1.92'
    """
    return f"{rate:.2f}"


def with_interval(value: Estimate, text: Callable[[float], str]) -> str:
    """A number and its interval.

    >>> with_interval(Estimate(value=1.92, low=1.7, high=2.2), steepness_text)
    '1.92 (1.70–2.20)'
    """
    if text is value_text:
        return f"{value_text(value.value)} ({interval_text(value.low, value.high)})"
    if text is difference_text:
        return f"{difference_text(value.value)} ({difference_interval_text(value.low, value.high)})"
    return f"{text(value.value)} ({text(value.low)}{DASH}{text(value.high)})"
