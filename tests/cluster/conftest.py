"""A tiny policy that vLLM can run, and a Ray cluster of two nodes on this machine, on the loopback alone."""

import os

os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # read when Ray is imported: loopback only
os.environ.setdefault("RAY_worker_niceness", "0")  # else whatever runs beside the test starves its workers
os.environ.setdefault("OMP_NUM_THREADS", "1")

from importlib import util
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from scalerl.cluster.session import NAMESPACE
from scalerl.recipe.reading import load

ROOT = Path(__file__).parents[2]
collect_ignore_glob = [] if util.find_spec("vllm") else ["test_*.py"]  # `make test-cluster` has it
SMALL = (
    "runtime.kind=cluster", "task.steps=[1,3]", "task.num_prompts=400", "length.think_tokens=[8,10]",
    "batch.prompts=8", "batch.samples=4", "evaluation.prompts=64", "evaluation.samples=2",
    "runtime.start_seconds=180", "runtime.update_seconds=40", "runtime.answer_seconds=40", "log.rollouts_every=1",
    "log.rollouts_keep=0", "optimizer.warmup_steps=2", "optimizer.rate=3e-4",
)  # fmt: skip


def make_demo_policy():
    spec = util.spec_from_file_location("make_demo_policy", ROOT / "examples" / "make_demo_policy.py")
    making = util.module_from_spec(spec)
    spec.loader.exec_module(making)
    return making


@pytest.fixture(scope="session")
def policy(tmp_path_factory):
    """A minute of warm start on short chains, with heads as wide as vLLM wants them."""
    place = tmp_path_factory.mktemp("policy")
    make_demo_policy().main(place, shape=(3, 32), steps=900, batch=64, chains=(1, 3))
    return place


@pytest.fixture
def two_nodes():
    yield from nodes(4, 4)


@pytest.fixture
def two_nodes_and_a_driver():
    yield from nodes(0, 4, 4)


def nodes(*cpus):
    """A cluster whose first node is the driver's."""
    common = {"node_ip_address": "127.0.0.1", "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": cpus[0], **common})
    for count in cpus[1:]:
        cluster.add_node(num_cpus=count, **common)
    ray.init(address=cluster.address, namespace=NAMESPACE, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def recipe(policy):
    def made(*changes):
        return load("demo", [f"model.path={policy}", *SMALL, *changes])

    return made
