"""Curves that the tests of the report draw: usual ones and odd ones."""

from dataclasses import replace
from functools import cache

import numpy as np

import scalerl


def sigmoid_run(
    name="ScaleRL",
    *,
    ceiling=0.61,
    efficiency=1.92,
    midpoint=2542.0,
    start=0.3,
    last=16_000.0,
    num_points=24,
    num_samples=16_000,
    unit="gpu_hours",
    has_zero=True,
    noise=0.003,
):
    compute = np.linspace(0.0 if has_zero else last / num_points, last, num_points)
    value = start + (ceiling - start) / (1 + (midpoint / np.maximum(compute, 1e-9 * last)) ** efficiency)
    scatter = noise * np.random.default_rng(len(name)).standard_normal(num_points)
    return scalerl.Curve.of(compute, np.clip(value + scatter, 0, 1), unit=unit, name=name, num_samples=num_samples)


def falling_run():
    compute = np.linspace(0, 1000, 30)
    return scalerl.Curve.of(compute, 0.3 + 0.3 * np.sin(compute / 400), unit="steps", name="falls")


@cache
def odd_runs():
    five = scalerl.Curve.of([100, 200, 400, 800, 1600], [0.2, 0.26, 0.33, 0.4, 0.44], unit="gpu_hours", name="five")
    flat = scalerl.Curve.of([0, 1, 2, 3], [0.5] * 4, unit="steps", name="flat")
    zeros = scalerl.Curve.of([0, 1, 2, 3, 4], [0.0] * 5, unit="tokens", name="nothing learned", num_samples=100)
    ones = scalerl.Curve.of([10, 20, 30], [1.0] * 3, unit="tokens", name="_all $x_{$ learned")
    many = sigmoid_run("many", num_points=200, last=1.97e19, midpoint=3e18, unit="flops", has_zero=False)
    partly = replace(sigmoid_run("partly"), num_samples=np.where(np.arange(24) < 12, 500.0, np.nan))
    return (sigmoid_run(), falling_run(), five, flat, zeros, ones, many, partly)
