"""Joining a Ray cluster, or starting one on this machine that nobody else can reach."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from shutil import which
from typing import Any

from scalerl.cluster.errors import first_line
from scalerl.cluster.layout import Layout
from scalerl.errors import InputError
from scalerl.recipe.sections import RuntimeSection

NAMESPACE = "scalerl"
LOCAL_CPUS = 8
"""What a cluster started here counts: its processes share the cores, Ray only keeps the books."""
OFF_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's switch for addresses other than the loopback, on every system, whatever its name says."""
NICENESS = "RAY_worker_niceness"
"""Ray starts its workers as background work, 15, which whatever else a machine does can starve for minutes."""
STORE_BYTES = 512 << 20
"""On machines without GPUs, whose models are small; elsewhere Ray takes its share of the memory."""


@contextmanager
def joined(address: str | None, runtime: RuntimeSection) -> Generator[None]:
    """Be part of a cluster for as long as the run lasts; one that was started here ends with it."""
    if address is not None or runtime.network == "all":
        _require_authentication()
    else:
        os.environ[OFF_LOOPBACK] = "0"  # Ray reads it when it is imported
    if address is None:
        os.environ.setdefault(NICENESS, "0")  # here the workers are the run
    import ray
    from ray.exceptions import RayError

    try:
        ray.init(namespace=NAMESPACE, log_to_driver=False, **_options(address, runtime))
    except (ConnectionError, ValueError, RuntimeError, RayError) as problem:
        where = "no cluster could be started" if address is None else f"--address is {address!r}; nobody answers"
        raise InputError(f"{where}: {first_line(problem)}") from problem
    try:
        yield
    finally:
        ray.shutdown()


def _require_authentication() -> None:
    """What others can reach is reached with a token only; Ray reads this when it is imported, and unset is off."""
    mode = os.environ.setdefault("RAY_AUTH_MODE", "token")
    if mode != "token":
        raise InputError(
            f"RAY_AUTH_MODE is {mode!r}; a cluster that others can reach needs Ray's token authentication, "
            "expected it unset or 'token'"
        )


def _options(address: str | None, runtime: RuntimeSection) -> dict[str, Any]:
    if address is not None:
        return {"address": address}
    loopback: dict[str, Any] = {"_node_ip_address": "127.0.0.1"} if runtime.network == "loopback" else {}
    return {
        "address": "local",  # else it would join whatever cluster this machine happens to run
        "num_cpus": max(LOCAL_CPUS, runtime.generators + runtime.trainers + runtime.verifiers),
        "include_dashboard": False,
        **({} if which("nvidia-smi") else {"object_store_memory": STORE_BYTES}),
        **loopback,
    }


def placed(layout: Layout, seconds: float, tell: Callable[[str], None]) -> Any:  # noqa: ANN401 - Ray's PlacementGroup
    """Room for generators and trainers, all at once or not at all; a cluster may grow until then."""
    import ray
    from ray.exceptions import GetTimeoutError

    asked, there = _sums(layout.bundles), _sums([ray.cluster_resources()])
    state = f"runtime asks for {_words(asked)}; the cluster has {_words(there)}"
    if any(there[kind] < asked[kind] for kind in asked):
        tell(f"{state}: waiting {seconds:g} s for more")
    group = ray.util.placement_group(list(layout.bundles), strategy="PACK")
    try:
        ray.get(group.ready(), timeout=seconds)
    except GetTimeoutError as problem:
        ray.util.remove_placement_group(group)
        raise InputError(state) from problem
    return group


def _sums(resources: Iterable[Mapping[str, float]]) -> dict[str, float]:
    every = list(resources)
    return {kind: sum(one.get(kind, 0) for one in every) for kind in ("CPU", "GPU")}


def _words(resources: Mapping[str, float]) -> str:
    return f"{resources['CPU']:g} CPUs and {resources['GPU']:g} GPUs"
