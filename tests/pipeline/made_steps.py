"""Small judged groups and updates with numbers that a person can follow."""

import numpy as np

from scalerl.objective.selection import select
from scalerl.recipe.sections import Objective
from scalerl.records import EvalPoint, Group, Prompt, Rollout, Verdict
from scalerl.trainer.update_report import UpdateReport


def rollout(
    passed=True, *, versions=(0, 0), ending="stopped", is_interrupted=False, error="", num_forced=0, kind=""
):
    """A rollout of as many tokens as versions; the last few may be forced."""
    num = len(versions)
    return Rollout(
        tokens=np.arange(num, dtype=np.int32),
        behavior=np.full(num, -0.5, np.float32),
        versions=np.array(versions, np.int32),
        is_trainable=np.arange(num) < num - num_forced,
        ending=ending,
        is_interrupted=is_interrupted,
        verdict=Verdict(score=float(passed), passed=passed, error=error, kind=kind),
        reward=float("nan") if error else 2.0 * passed - 1.0,
    )


def group(*rollouts, admission=0, task="chain", difficulty=""):
    prompt = Prompt(id=f"{task}:{admission}", task=task, text="?", answer=1, difficulty=difficulty)
    return Group(
        prompt=prompt,
        prompt_tokens=np.arange(3, dtype=np.int32),
        rollouts=rollouts,
        admission=admission,
        admitted_version=0,
    )


def update(groups, log_ratio, version=0, **changes):
    """A report on the groups that survive, with these log-ratios token by token."""
    selection = select(groups, Objective())
    kept = [one for each in selection.survivors for one in each.rollouts]
    lag = [version - value for one in kept for value in one.versions[one.is_trainable]]
    num = len(lag)
    assert len(log_ratio) == num, f"{num} trained tokens"
    facts = dict(
        selection=selection,
        has_stepped=num > 0,
        loss=0.25,
        grad_norm=2.0,
        was_clipped=True,
        rate=1e-4,
        num_rows=len(kept),
        num_tokens=sum(len(one.tokens) + 3 for one in kept),
        num_trained=num,
        peak_bytes=1 << 30,
        log_ratio=np.array(log_ratio, np.float32),
        lag=np.array(lag, np.int32),
        entropy=np.full(num, 0.5, np.float32),
        is_low=np.zeros(num, np.bool_),
        is_high=np.zeros(num, np.bool_),
    )
    return UpdateReport(**{**facts, **changes})


def points(values, *, every=10, task="chain", num_prompts=512, num_samples=4):
    """Evaluations every so many steps of 1e12 FLOPs each."""
    return [
        EvalPoint(
            step=every * number,
            gpu_hours=0.01 * every * number,
            flops=1e12 * every * number,
            tokens=1000 * every * number,
            pass_rate=float(value),
            num_prompts=num_prompts,
            num_samples=num_samples,
            temperature=1.0,
            task=task,
            truncation=0.02,
            device="cpu",
        )
        for number, value in enumerate(values)
    ]
