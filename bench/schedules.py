"""What it buys to keep sequences in flight: `pipeline` against `phased` with the same k and the same work.

python bench/schedules.py          the demo's policy on a CPU, answers of ragged length
"""

import argparse
import tempfile
from pathlib import Path

from scalerl.pipeline.running import start
from scalerl.recipe.reading import load


def tokens_per_second(kind, k, steps, slots):
    recipe = load("demo", [
        f"steps={steps}", f"off_policy.kind={kind}", f"off_policy.k={k}", f"engine.slots={slots}",
        "length.think_tokens=[8,60]",
        "evaluation.every=1000", "evaluation.prompts=1", "evaluation.samples=1", "checkpoint.every=1000",
        "log.rollouts_every=0", "log.kl_to_start=false",
    ])  # fmt: skip
    with tempfile.TemporaryDirectory() as run, start(recipe, Path(run) / "run", lambda _: (), lambda: False) as it:
        it.loop.run()
        ledger = it.parts.ledger
        spent = ledger.device_seconds
        return ledger.num_generated_tokens / (
            spent["generation"] + spent["training"]
        ), ledger.num_generated_tokens / spent["generation"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--k", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--slots", type=int, default=64)
    given = parser.parse_args()
    for k in given.k:
        found = {
            kind: tokens_per_second(kind, k, given.steps, given.slots)
            for kind in ("phased", "pipeline", "phased", "pipeline")
        }
        for kind, (both, alone) in found.items():
            print(f"k = {k}: {kind:8} {both:8,.0f} tokens/s in all, {alone:8,.0f} tokens/s while generating")
        ratio = [found["pipeline"][i] / found["phased"][i] for i in (0, 1)]
        print(f"k = {k}: pipeline / phased {ratio[0]:.2f} in all, {ratio[1]:.2f} while generating")


if __name__ == "__main__":
    main()
