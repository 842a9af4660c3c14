"""Forecast a curve in fifteen lines: where does half of a run say that it will end?"""

from pathlib import Path

import scalerl

curve = scalerl.read(Path(__file__).parent / "curves" / "batch-768.csv")
half = scalerl.fit(curve, until=curve.last_compute / 2)
ahead = scalerl.forecast(half, at=[curve.last_compute], reach=[0.58])

point, target = ahead.points[0], ahead.targets[0]
print(f"forecast at {point.compute:,.0f} GPU-hours: {point.value:.3f} (90%: {point.low:.3f} to {point.high:.3f})")
print(f"what came: {curve.value[-1]:.3f}")
print(f"0.58 is reached with probability {target.probability:.0%}, at about {target.compute:,.0f} GPU-hours")
print("identified" if half.is_identified else f"not identified: {half.warnings[-1]}")
