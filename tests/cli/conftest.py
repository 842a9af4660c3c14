"""Small noisy runs on disk, and the command line run in this process."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from scalerl.cli import run


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict]:
        return [json.loads(line, parse_constant=_refuse) for line in self.out.splitlines()]


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


@pytest.fixture
def scalerl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str | Path) -> Result:
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def refused(scalerl: Callable[..., Result]) -> Callable[..., str]:
    """The one line that refuses a command."""

    def call(*arguments: str | Path) -> str:
        result = scalerl(*arguments)
        assert result.code == 2, result
        assert result.out == ""
        assert result.err.startswith("error: ") and result.err.count("\n") == 1, result.err
        return result.err.strip()

    return call


def sigmoid(compute: np.ndarray, ceiling: float, midpoint: float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return 0.2 + (ceiling - 0.2) / (1 + (midpoint / compute) ** 1.8)


@pytest.fixture
def noisy(tmp_path: Path) -> Callable[..., Path]:
    """Write a noisy sigmoid; by default it bends and its ceiling of 0.6 can be told."""

    def write(
        name: str = "run.csv",
        *,
        ceiling: float = 0.6,
        midpoint: float = 800.0,
        last: float = 6000.0,
        num_points: int = 31,
        seed: int = 0,
        header: str = "# unit: gpu_hours\n",
    ) -> Path:
        compute = np.linspace(0, last, num_points)
        noise = 0.004 * np.random.default_rng(seed).standard_normal(num_points)
        value = np.clip(sigmoid(compute, ceiling, midpoint) + noise, 0, 1)
        rows = [f"{x:g},{y:.4f},10000" for x, y in zip(compute, value, strict=True)]
        return lines(tmp_path / name, [f"{header}compute,value,n", *rows])

    return write


def lines(path: Path, rows: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    """Write rows under the usual header."""
    return lambda *rows: lines(tmp_path / "run.csv", ["# unit: gpu_hours", "compute,value", *rows])


@pytest.fixture
def mixture(tmp_path: Path) -> Callable[[str, float], Path]:
    """A run directory with two tasks."""

    def write(name: str, ceiling: float) -> Path:
        rows = [
            json.dumps({"step": step, "gpu_hours": float(step), "pass_rate": float(level), "task": task})
            for task, top in (("maths", ceiling), ("code", ceiling - 0.1))
            for step, level in zip(
                range(0, 3000, 100), sigmoid(np.arange(0.0, 3000.0, 100.0), top, 500.0).round(4), strict=True
            )
        ]
        return lines(tmp_path / name / "evals.jsonl", rows).parent

    return write


TINY = (
    "steps=3 batch.prompts=4 batch.samples=4 task.num_prompts=40 evaluation.prompts=12 evaluation.every=1 "
    "checkpoint.every=1 checkpoint.keep=9 log.rollouts_every=1 log.rollouts_keep=0 runtime.device=cpu"
)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three steps of the demo's policy: every rollout recorded, every step evaluated and kept."""
    place = tmp_path_factory.mktemp("trained") / "run"
    overrides = [word for one in TINY.split() for word in ("--set", one)]
    assert run(["train", "demo", "--plain", "--run", str(place), *overrides]) == 0
    return place
