"""New weights in the middle of an answer: exact on both sides, stamped, and harmless when they are wrong."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file
from small_models import CLOSE, PHRASE, log_probs, made, numbers, over_old_keys, saved, started, under_way

from scalerl.rollout.limits import Limits
from scalerl.rollout.vllm.errors import VllmError
from scalerl.rollout.vllm.weight_file import MEMORY, as_file

LONG = Limits(answer=1200, stops=())  # two seconds: who waits for its middle may be held up
PROMPT = numbers(*range(3, 60), *range(3, 60))


class Setting:
    """An engine with two sets of weights; `at` says which it runs, and versions only grow."""

    def __init__(self, run, kind, folder):
        self.run = run
        self.models = [made(kind, 0), made(kind, 1)]
        self.files = [saved(one, folder / str(i)) for i, one in enumerate(self.models)]
        self.engine = started(run, folder / "0", LONG)
        self.at = 0

    async def switch(self, to=None, weights=None):
        self.at = 1 - self.at if to is None else to
        version = self.engine.version + 1
        times = await self.engine.take_up(version, weights or self.files[self.at], timeout=30)
        assert self.engine.version == version
        return times

    def answer(self, seed=0, prompt=PROMPT):
        return self.run(self.engine.answer(prompt, seed, 1.0))

    def error(self, rollout, prompt=PROMPT):
        return np.abs(log_probs(self.models[self.at], prompt, rollout.tokens) - rollout.behavior).max()


@pytest.fixture(scope="module", params=["tied qwen3", "untied llama"])
def here(request, run, tmp_path_factory):
    one = Setting(run, request.param, tmp_path_factory.mktemp("models"))
    yield one
    run(one.engine.close())


@pytest.fixture(autouse=True)
def long_answers(here):
    here.engine._limits = LONG


def test_an_answer_goes_on_under_new_weights_over_the_old_keys(here):
    old = here.at

    async def changed_twice():
        task = asyncio.create_task(here.engine.answer(PROMPT, 7, 1.0))
        await under_way(here.engine, 100)
        times = await here.switch()
        return await task, times

    before = here.engine.version
    rollout, times = here.run(changed_twice())
    first = int((rollout.versions == before).sum())
    assert 0 < first < LONG.answer, first
    assert rollout.versions.tolist() == [before] * first + [before + 1] * (LONG.answer - first)
    kept = over_old_keys(here.models[old], here.models[here.at], PROMPT, rollout.tokens, first)
    early = np.abs(log_probs(here.models[old], PROMPT, rollout.tokens)[:first] - rollout.behavior[:first]).max()
    late = np.abs(kept - rollout.behavior[first:]).max()
    anew = np.abs(log_probs(here.models[here.at], PROMPT, rollout.tokens)[first:] - rollout.behavior[first:]).max()
    print(f"swap at {first}: errors {early:.1e} and {late:.1e}; recomputed keys {anew:.1e}; {times}")
    assert early < 1e-5 and late < 1e-5 and anew > 0.1


def test_all_answers_in_flight_cross_the_update(here):
    async def many():
        tasks = [asyncio.create_task(here.engine.answer(numbers(3 + i), i, 1.0)) for i in range(12)]
        await under_way(here.engine, 60)
        await here.switch()
        await here.switch()
        return await asyncio.gather(*tasks)

    last = here.engine.version + 2
    for one in here.run(many()):
        assert len(one.tokens) == LONG.answer and (np.diff(one.versions) >= 0).all() and one.versions[-1] == last


def test_a_prompt_seen_before_an_update_is_read_anew_after_it(here):
    here.engine._limits = Limits(answer=4, stops=())
    assert here.error(here.answer()) < 1e-5
    here.run(here.switch())
    before = here.engine.num_prefilled
    assert here.error(here.answer()) < 1e-5
    assert here.engine.num_prefilled - before == len(PROMPT)
    here.answer()
    assert here.engine.num_prefilled - before < 2 * len(PROMPT)


def test_a_version_that_is_taken_up_again_with_other_weights_shares_nothing(here):
    here.engine._limits = Limits(answer=4, stops=())
    here.answer()
    here.at = 1 - here.at
    here.run(here.engine.take_up(here.engine.version, here.files[here.at], timeout=30))
    assert here.error(here.answer()) < 1e-5


def test_submissions_made_during_an_update_belong_to_the_new_version(here):
    here.engine._limits = Limits(answer=4, stops=())
    here.answer()

    async def meanwhile():
        update = asyncio.create_task(here.switch())
        await asyncio.sleep(0.01)
        assert here.engine.is_paused
        found = await here.engine.answer(PROMPT, 1, 1.0)
        await update
        return found

    found = here.run(meanwhile())
    assert (found.versions == here.engine.version).all() and here.error(found) < 1e-5


def test_thinking_under_one_version_and_the_answer_under_another(here):
    """The turns of an answer are submissions of their own: the second reads everything under the new weights."""
    here.engine._limits = Limits(answer=40, stops=(), think=(150, 150), close=CLOSE, phrase=PHRASE)

    async def across():
        task = asyncio.create_task(here.engine.answer(numbers(9, 9), 3, 1.0))
        await under_way(here.engine, 10)
        await here.switch()
        return await task

    one = here.run(across())
    assert one.versions[0] == here.engine.version - 1 and one.versions[-1] == here.engine.version
    assert np.abs(log_probs(here.models[here.at], numbers(9, 9), one.tokens) - one.behavior)[-40:].max() < 1e-5
    assert one.is_interrupted == (not one.is_trainable.all())


@pytest.mark.parametrize("memory", [MEMORY, Path("/nowhere")])
def test_weights_that_arrive_as_bytes(here, memory):
    here.engine._limits = Limits(answer=30, stops=())
    for _ in range(2):
        with as_file(np.fromfile(here.files[1 - here.at], np.uint8), memory) as file:
            here.run(here.switch(weights=file))
        assert here.error(here.answer()) < 1e-5 and not file.exists()


def test_the_checksum_is_of_the_weights_that_are_used(here, tmp_path):
    here.run(here.switch(0))
    first = here.run(here.engine.checksum())
    here.run(here.switch(1))
    second = here.run(here.engine.checksum())
    here.run(here.switch(0))
    assert here.run(here.engine.checksum()) == first != second
    nudged = load_file(here.files[0])
    for name in ("model.layers.1.self_attn.k_proj.weight", "model.embed_tokens.weight", "model.norm.weight"):
        other = {key: one.clone() for key, one in nudged.items()}
        other[name].view(-1)[17] += 1e-3
        save_file(other, tmp_path / "nudged")
        here.run(here.switch(0, weights=tmp_path / "nudged"))
        assert here.run(here.engine.checksum()) not in (first, second), name
    here.run(here.switch(0))
    assert here.run(here.engine.checksum()) == first


def wrong_files(good, folder):
    weights = load_file(good)
    name = "model.layers.0.self_attn.q_proj.weight"
    save_file({key: one for key, one in weights.items() if key != name}, folder / "lacks.safetensors")
    save_file({**weights, "model.layers.9.what": weights[name].clone()}, folder / "unknown.safetensors")
    save_file({**weights, name: weights[name][:, :32].contiguous()}, folder / "shape.safetensors")
    (folder / "short.safetensors").write_bytes(good.read_bytes()[:-100])
    (folder / "text.safetensors").write_text("not weights at all")
    return {
        "is not there": folder / "none.safetensors",
        "lack model.layers.0.self_attn.q_proj": folder / "lacks.safetensors",
        "hold model.layers.9.what": folder / "unknown.safetensors",
        "expected \\(64, 64\\)": folder / "shape.safetensors",
        "cut short": folder / "short.safetensors",
        "not in the format": folder / "text.safetensors",
    }


def test_wrong_weights_are_refused_and_the_old_ones_go_on(here, tmp_path):
    before, checksum = here.engine.version, here.run(here.engine.checksum())

    async def refused():
        task = asyncio.create_task(here.engine.answer(PROMPT, 5, 1.0))
        for words, file in wrong_files(here.files[0], tmp_path).items():
            with pytest.raises(VllmError, match=words):
                await here.engine.take_up(before + 1, file, timeout=30)
            assert not here.engine.is_paused
        return await task

    rollout = here.run(refused())
    assert (rollout.versions == before).all() and here.error(rollout) < 1e-5
    assert here.engine.version == before and here.run(here.engine.checksum()) == checksum


def test_after_a_load_that_broke_off_it_stays_paused_and_recovers(here):
    """vLLM is left with half a model: the next step would end it."""

    def spoiled():
        return here.engine.vllm.collective_rpc("reload_weights", kwargs={"weights_path": "/none"})

    async def broken():
        task = asyncio.create_task(here.engine.answer(PROMPT, 5, 1.0))
        await under_way(here.engine, 50)
        old, version = here.at, here.engine.version
        with pytest.raises(VllmError, match="stays paused"):
            await here.engine.change(version + 1, spoiled, timeout=30)
        assert here.engine.is_paused and here.engine.version == version
        with pytest.raises(VllmError, match="is not there"):
            await here.engine.take_up(version + 1, here.files[0].parent / "none", timeout=30)
        later = asyncio.create_task(here.engine.answer(PROMPT, 6, 1.0))
        await asyncio.sleep(0.2)
        assert not task.done() and not later.done()
        await here.switch()
        return old, await task, await later

    old, rollout, later = here.run(broken())
    first = int((rollout.versions == rollout.versions[0]).sum())
    kept = over_old_keys(here.models[old], here.models[here.at], PROMPT, rollout.tokens, first)
    assert np.abs(kept - rollout.behavior[first:]).max() < 1e-5 and here.error(later) < 1e-5
    assert here.engine.is_alive


def test_an_update_that_takes_too_long_says_so_and_can_be_repeated(here):
    async def late():
        with pytest.raises(VllmError, match=r"within 0\.05 s"):
            await here.engine.change(here.engine.version + 1, lambda: asyncio.sleep(5), timeout=0.05)
        assert here.engine.is_paused
        await here.switch()

    here.run(late())
    here.engine._limits = Limits(answer=30, stops=())
    assert here.error(here.answer()) < 1e-5
