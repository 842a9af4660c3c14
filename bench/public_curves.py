"""Back-test on a folder of public learning curves, with repositories left out in turn.

    python bench/public_curves.py FOLDER [--markdown OUT.md]

FOLDER holds CSV curves and a MANIFEST.csv with the columns file, source_repo, class, notes and duplicate_of. Each
method predicts the mean of the last fifth of the hidden points. From other repositories than the one that is scored
come the spread of the rules of thumb and, in the row `scalerl`, the two priors (wander, headroom) that did best
there; `as shipped` is the default. Everything else about the method was chosen with all of these curves in view.
"""

import argparse
import csv
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from scalerl import Backtest, Curve, backtest, read
from scalerl.scaling.law import law
from scalerl.scaling.paper import PaperGrid, paper
from scalerl.scaling.posterior import posterior
from scalerl.scaling.predictors import RIVALS
from scalerl.scaling.priors import Priors

CUTS = (0.1, 0.25, 0.35, 0.5, 0.75)
CANDIDATES = [
    Priors(wander=wander, headroom_power=power) for wander, power in product((0.02, 0.06), (1.0, 2.0, 3.0))
]


def load(folder: Path) -> tuple[list[Curve], list[str], list[bool]]:
    """Validation curves that are no copies of another, their repositories, and whether they are means of runs."""
    with (folder / "MANIFEST.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["class"] == "validation" and not row["duplicate_of"]]
    curves = [read(folder / row["file"]) for row in rows]
    return curves, [row["source_repo"] for row in rows], ["mean of 3" in row["notes"] for row in rows]


def with_priors(priors: Priors):
    def predict(curve: Curve, compute):
        return posterior(curve.pooled(128), law("sigmoid"), priors=priors).levels(compute)

    return predict


def paper_with_any_ceiling(curve: Curve, compute):
    """The paper's procedure with ceilings from 0.005 to 1: many of these curves end below its 0.450."""
    grid = replace(PaperGrid.stated(curve), ceilings=np.arange(5, 1001, 5) / 1000)
    best = paper(curve, law("sigmoid"), grid=grid).best
    value = law("sigmoid")(compute, ceiling=best.ceiling, rate=best.rate, place=best.place, start=best.start)
    return np.clip(value, 0, 1)[None]


def nested(result: Backtest) -> Backtest:
    """For each repository, the outcomes under the priors with the smallest CRPS on all other repositories."""
    names = [str(number) for number in range(len(CANDIDATES))]
    outcomes = [outcome for outcome in result.outcomes if outcome.method not in names]
    outcomes = [replace(one, method="as shipped") if one.method == "scalerl" else one for one in outcomes]
    chosen = []
    for group in sorted({outcome.group for outcome in result.outcomes}):
        elsewhere = [
            np.mean([one.crps for one in result.of(name) if one.group != group and one.cut >= 0.25])
            for name in names
        ]
        best = names[int(np.argmin(elsewhere))]
        print(f"{group}: {CANDIDATES[int(best)]}", file=sys.stderr)
        chosen += [replace(one, method="scalerl") for one in result.of(best) if one.group == group]
    return replace(result, outcomes=(*chosen, *outcomes))


def markdown(result: Backtest, title: str) -> str:
    lines = [f"### {title}", "", "| cut | method | runs | mean error | CRPS | 50% | 80% | 90% | 95% |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for score in result.scores():
        bands = [f"{value:.2f}" for value in score.coverage.values()] if score.coverage else [""] * 4
        if score.coverage_error is not None:
            bands[2] += f" ± {score.coverage_error:.2f}"
        cells = [
            f"{score.cut:.0%}",
            score.method,
            score.num_runs,
            f"{score.error:.4f}",
            f"{score.crps:.4f}",
            *bands,
        ]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    curves, repositories, is_mean = load(options.folder)
    rivals = {**RIVALS, "paper, any ceiling": paper_with_any_ceiling}
    rivals |= {str(number): with_priors(priors) for number, priors in enumerate(CANDIDATES)}
    result = nested(
        backtest(
            curves,
            cuts=CUTS,
            groups=repositories,
            rivals=rivals,
            on_step=lambda words: print(words, end="\x1b[K\r", file=sys.stderr),
        )
    )
    single = {curve.name for curve, mean in zip(curves, is_mean, strict=True) if not mean}
    parts = {
        "All curves": result,
        "Single runs": replace(result, outcomes=tuple(one for one in result.outcomes if one.run in single)),
        "Means of three runs": replace(result, outcomes=tuple(o for o in result.outcomes if o.run not in single)),
    }
    text = "\n".join(markdown(part, title) for title, part in parts.items())
    print(text)
    if options.markdown:
        options.markdown.write_text(text)


if __name__ == "__main__":
    main()
