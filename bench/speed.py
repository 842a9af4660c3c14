"""Speed of the default fit against the paper's procedure as it is printed, on the same 100 points in one run.

python bench/speed.py
"""

import subprocess
import sys
import time
from statistics import median

import numpy as np

from scalerl import Curve, fit, law
from scalerl.scaling.paper import paper
from scalerl.scaling.posterior import posterior


def made_curve() -> Curve:
    rng = np.random.default_rng(0)
    compute = np.linspace(0, 12_000, 100)
    level = law("sigmoid")(compute, ceiling=0.61, rate=1.92, place=2542.0, start=0.3)
    value = rng.binomial(16_000, level) / 16_000
    return Curve.of(compute, value, unit="gpu_hours", num_samples=16_000)


def seconds(function, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return median(times)


def main() -> None:
    curve, sigmoid = made_curve(), law("sigmoid")
    fit(curve)  # what is loaded on first use is loaded
    ours = seconds(lambda: posterior(curve, sigmoid), 21)
    whole = seconds(lambda: fit(curve), 21)
    squares = seconds(lambda: fit(curve, method="least-squares"), 5)
    twin = seconds(lambda: paper(curve, sigmoid), 3)
    printed = seconds(lambda: paper(curve, sigmoid, with_curve_fit=True), 3)
    again = seconds(lambda: posterior(curve, sigmoid), 21)
    print(f"posterior of 100 points      {1e3 * ours:8.1f} ms (again at the end: {1e3 * again:.1f} ms)")
    print(f"with intervals and diagnosis {1e3 * whole:8.1f} ms")
    print(f"least squares                {1e3 * squares:8.1f} ms")
    print(f"paper, all cells at once     {1e3 * twin:8.1f} ms")
    print(f"paper, cell by cell          {1e3 * printed:8.1f} ms")
    print(f"ratio paper / posterior      {printed / ours:8.0f}; paper / whole fit {printed / whole:.0f}")
    command = [sys.executable, "-m", "scalerl", "--help"]
    start_up = seconds(lambda: subprocess.run(command, check=True, capture_output=True), 5)
    print(f"scalerl --help               {1e3 * start_up:8.0f} ms")


if __name__ == "__main__":
    main()
