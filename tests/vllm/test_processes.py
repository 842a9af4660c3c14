"""No process of vLLM's outlives the engine, or the process that started it."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from processes import below, is_alive
from small_models import made, numbers, saved, started

from scalerl.rollout.limits import Limits
from scalerl.rollout.vllm.errors import VllmError

SCRIPT = """
import asyncio, sys
from scalerl.rollout.limits import Limits
from scalerl.rollout.vllm.engine import VllmEngine
from scalerl.rollout.vllm.options import VllmOptions

async def main():
    options = VllmOptions(
        model=sys.argv[1], dtype="float32", is_fp32_head=True, max_model_len=128, max_sequences=4,
        tensor_parallel=int(sys.argv[2]),
    )
    await VllmEngine.start(options, Limits(answer=8, stops=(1,)))
    print("started", flush=True)
    await asyncio.sleep(600)

if __name__ == "__main__":
    asyncio.run(main())
"""


def engines(process):
    """The processes of vLLM's, as they call themselves, or as they are spawned."""

    def words(one):
        try:
            return Path(f"/proc/{one}/cmdline").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return ""

    return [one for one in below(process) if "VLLM" in words(one) or "spawn_main" in words(one)]


def gone(processes, seconds=20):
    end = time.monotonic() + seconds
    while any(is_alive(one) for one in processes) and time.monotonic() < end:
        time.sleep(0.1)
    return not any(is_alive(one) for one in processes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(made("untied qwen3", 0), tmp_path_factory.mktemp("model")).parent


@pytest.fixture(params=[1, 2])
def ranks(request):
    return request.param


@pytest.fixture
def parent(folder, tmp_path, ranks):
    script = tmp_path / "parent.py"
    script.write_text(textwrap.dedent(SCRIPT))
    one = subprocess.Popen(
        [sys.executable, str(script), str(folder), str(ranks)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield one
    one.kill()
    one.wait()


def test_a_closed_engine_leaves_no_process_and_fails_what_waits(run, folder):
    import asyncio

    async def closed():
        task = asyncio.create_task(engine.answer(numbers(3), 0, 1.0))
        await asyncio.sleep(0.2)
        await engine.close()
        with pytest.raises(VllmError, match="closed"):
            await task
        with pytest.raises(VllmError, match="closed"):
            await engine.answer(numbers(3), 0, 1.0)
        await engine.close()

    engine = started(run, folder, Limits(answer=2000, stops=()))
    processes = engines(os.getpid())
    assert processes and all(is_alive(one) for one in processes)
    run(closed())
    assert gone(processes) and not engine.is_alive


def test_an_engine_that_died_fails_its_answers(run, folder):
    import asyncio

    async def killed():
        task = asyncio.create_task(engine.answer(numbers(3), 0, 1.0))
        await asyncio.sleep(0.2)
        for one in engines(os.getpid()):
            os.kill(one, signal.SIGKILL)
        with pytest.raises(VllmError):
            await asyncio.wait_for(task, 30)
        assert not engine.is_alive
        with pytest.raises(VllmError):
            await engine.take_up(1, folder / "model.safetensors", timeout=10)
        await engine.close()

    engine = started(run, folder, Limits(answer=2000, stops=()))
    run(killed())


def test_a_killed_parent_takes_vllm_along(parent, ranks):
    assert parent.stdout.readline() == "started\n"
    processes = engines(parent.pid)
    assert len(processes) == (1 if ranks == 1 else 1 + ranks)
    parent.send_signal(signal.SIGKILL)
    assert gone(processes)
