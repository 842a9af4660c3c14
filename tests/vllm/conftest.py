"""Tests of the vLLM backend: those that start an engine are left out where vLLM is not installed."""

import asyncio
from importlib.util import find_spec

import pytest

NEED_VLLM = [
    "test_answers.py", "test_updates.py", "test_experts.py", "test_bfloat16.py", "test_two_ranks.py",
    "test_processes.py", "test_nccl.py",
]  # fmt: skip
collect_ignore = [] if find_spec("vllm") else NEED_VLLM


@pytest.fixture(scope="module")
def run():
    """Runs coroutines of one module on one event loop, so that its tests can share an engine."""
    with asyncio.Runner() as runner:
        yield runner.run
