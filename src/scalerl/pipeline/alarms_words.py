"""What an alarm says: what is seen, why it matters, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scalerl.scaling.number_text import interval_text, value_text

Name = Literal["truncation", "entropy", "drift", "flat", "judge_errors", "no_progress", "off_forecast"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    """Something that a person should know now, in words that name the remedy."""

    name: Name
    step: int
    text: str
    stops_run: bool = False


def truncation_text(share: float, limit: float) -> str:
    """Too many answers run out of budget (arXiv 2510.13786, A.15)."""
    return (
        f"{share:.0%} of the answers run out of budget, above {limit:.0%}. Runs at 10 to 15% tend to collapse and"
        " not to recover, because truncated answers shrink the batch. Give answers more room (length.answer_tokens,"
        " or length.max_tokens without interruption), interrupt thinking earlier (length.think_tokens), or take a"
        " larger batch (batch.prompts)."
    )


def entropy_text(entropy: float, start: float) -> str:
    """The policy hardly tries anything else any more."""
    return (
        f"Entropy has collapsed: {entropy:.3g} a token, {entropy / start:.0%} of the {start:.3g} it began with. It"
        " falls in every run, but this low hardly anything new is tried. Look whether group/all_right_share and"
        " group/all_wrong_share leave much to learn from; lower optimizer.rate, widen loss.clip_high or use"
        ' loss.kind = "cispo", or bring in harder prompts.'
    )


def drift_text(rms: float, limit: float) -> str:
    """Engine and trainer disagree about the same tokens under the same weights."""
    return (
        f"Engine and trainer disagree: log-ratios of tokens that the present weights sampled have an RMS of"
        f" {rms:.2g}, above {limit:.2g}, where they should be 0. Every ratio is off by as much. Use the fp32 head"
        " (model.fp32_head = true), look whether TF32 is on for one side only, whether both sides apply"
        " sampling.temperature, and whether the engine runs the version it stamps."
    )


def flat_text(num_steps: int, all_right: float, all_wrong: float) -> str:
    """Nothing was learned for many steps in a row."""
    if all_right >= all_wrong:
        why = "almost every prompt is answered right by all its rollouts: bring in harder prompts"
    else:
        why = "almost every prompt is answered wrong by all its rollouts: bring in easier prompts, or warm-start"
    return (
        f"{num_steps} steps in a row had only groups of equal rewards, so no weight moved"
        f" ({all_right:.0%} of groups all right, {all_wrong:.0%} all wrong). The run stops: {why}; more rollouts"
        " of each prompt (batch.samples) help where pass rates are near 0 or 1."
    )


def judge_text(share: float, num_rollouts: int, limit: float) -> str:
    """Judges fail too often for the rewards to mean anything."""
    return (
        f"The judge failed on {share:.0%} of the last {num_rollouts} answers, above {limit:.0%}. What is left would"
        " be a biased sample, so the run stops. The errors stand with the recorded rollouts: mend the task or its"
        " answers, or give the judge more time (task.seconds); then begin a new run with --fork."
    )


def never_rose_text(task: str, step: int, rise: float, error: float, all_wrong: float | None) -> str:
    """The pass rate has not left its start."""
    hint = (
        f" {all_wrong:.0%} of the groups are all wrong: warm-start the model or bring in easier prompts."
        if all_wrong is not None and all_wrong > 0.5
        else " Raise optimizer.rate (or lower it if the gradient is clipped at most steps), take more rollouts a"
        " prompt (batch.samples), and try reward controls to see whether the reward carries a signal."
    )
    return (
        f"No progress: at step {step} the held-out pass rate of {task} has not risen since the start"
        f" ({rise:+.3f} ± {error:.3f}).{hint}"
    )


def flattened_text(task: str, step: int, since: int, level: float, rise: float, error: float) -> str:
    """The pass rate rose and does not any more."""
    return (
        f"No progress any more: the held-out pass rate of {task} has stayed at {value_text(level)} from step"
        f" {since} to {step} ({rise:+.3f} ± {error:.3f}). More steps buy little. Stop here, or lift the ceiling:"
        " longer thinking (length.think_tokens), a larger batch (batch.prompts), other prompts."
    )


def off_forecast_text(
    task: str, step: int, value: float, odds: float, then: tuple[int, float, float, float] | None
) -> str:
    """Evaluations lie below what was forecast for them; `then` is an earlier step and what it said of the end."""
    earlier = ""
    if then is not None:
        made_at, middle, low, high = then
        earlier = f" At step {made_at} its end was forecast at {value_text(middle)} ({interval_text(low, high)})."
    return (
        f"Off its forecast: the held-out pass rate of {task}, {value_text(value)} at step {step}, lies below what"
        f" was forecast (odds {odds:,.0f} to 1 against chance, at most 5% false alarms a run).{earlier} Look at"
        " truncation/share, entropy/mean, drift/rms and gradient/norm around the fall; begin a new run with --fork"
        " and a lower optimizer.rate, or accept the new forecast."
    )
