"""Starting actors: named, in their place, with nothing inherited by chance."""

from __future__ import annotations

import os
from typing import Any

import ray
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from scalerl.cluster.layout import Bundle

PASSED_ON = ("PYTHONPATH", "OMP_NUM_THREADS", "HF_HUB_OFFLINE", "VLLM_LOGGING_LEVEL")
"""Variables of the driver that its actors need wherever they run."""


def start(
    kind: type[Any],
    name: str,
    *arguments: object,
    needs: Bundle,
    place: tuple[Any, int] | None = None,
    concurrency: int = 1,
) -> Any:  # noqa: ANN401 - a handle
    """An actor of a class; `place` is a placement group and the index of a bundle."""
    options: dict[str, Any] = {
        "name": name,
        "num_cpus": needs.get("CPU", 0),
        "num_gpus": needs.get("GPU", 0),
        "max_restarts": 0,
        "max_task_retries": 0,
        "max_concurrency": concurrency,
        "runtime_env": {"env_vars": {key: os.environ[key] for key in PASSED_ON if key in os.environ}},
    }
    if place is not None:
        group, bundle = place
        options["scheduling_strategy"] = PlacementGroupSchedulingStrategy(
            group, placement_group_bundle_index=bundle
        )
    return ray.remote(kind).options(**options).remote(*arguments)
