"""Make the two curves beside this file: runs simulated from parameters that the ScaleRL paper prints.

    python examples/make_curves.py

Levels follow the law with the paper's Table 1 rows for batches of 768 and 2,048 answers (arXiv 2510.13786); the
start is not printed there and taken as 0.3. Each evaluation asks 1,000 prompts 16 times, and the run wanders a
little about its law, as real runs do. They show what the tool does; they are no measurements.
"""

from pathlib import Path

import numpy as np
from scipy.stats import beta

from scalerl import law
from scalerl.scaling.wander import correlation

ROWS = {"batch-768": (2542, 1.92, 0.610, 16_000, 40), "batch-2048": (10_909, 1.70, 0.645, 50_000, 50)}
HERE = Path(__file__).parent / "curves"


def main() -> None:
    for seed, (name, (midpoint, efficiency, ceiling, last, num_points)) in enumerate(ROWS.items()):
        rng = np.random.default_rng(seed)
        compute = np.linspace(0, last, num_points + 1)
        level = law("sigmoid")(compute, ceiling=ceiling, rate=efficiency, place=midpoint, start=0.3)
        spread = np.linalg.cholesky(0.006**2 * correlation(compute, compute) + 1e-12 * np.eye(len(compute)))
        wander = spread @ rng.standard_normal(len(compute))
        # The same 1,000 prompts each time, of very different difficulty, whose mean pass rate is the level.
        at = np.clip(level + wander, 0.01, 0.99)[:, None]
        ease = beta.ppf((np.arange(1000) + 0.5) / 1000, at, 1 - at)
        value = rng.binomial(16, ease).mean(axis=1) / 16
        rows = [f"{100 * step},{c:g},{v:.6f},16000" for step, (c, v) in enumerate(zip(compute, value, strict=True))]
        head = [
            "# unit: gpu_hours",
            f"# metric: held-out pass rate, simulated from Table 1 of arXiv 2510.13786 ({name})",
        ]
        (HERE / f"{name}.csv").write_text("\n".join([*head, "step,compute,value,n", *rows]) + "\n")


if __name__ == "__main__":
    main()
