"""Answers by vLLM and by our own engine, under the same tests: log-probabilities, endings, seeds."""

import asyncio

import numpy as np
import pytest
import torch
from small_models import (
    CLOSE,
    PHRASE,
    STOP,
    VOCABULARY,
    log_probs,
    made,
    numbers,
    saved,
    started,
)

from scalerl.errors import InputError
from scalerl.model.loading import load_policy
from scalerl.recipe.sections import Model
from scalerl.rollout.engine import Engine, Request
from scalerl.rollout.limits import Limits, draw_cut, stream_of

LIMITS = Limits(answer=6, stops=(STOP,), think=(4, 9), close=CLOSE, phrase=PHRASE)
PROMPTS = [numbers(*np.random.default_rng(i).integers(3, VOCABULARY, 1 + 5 * i)) for i in range(8)]


@pytest.fixture(scope="module")
def model():
    return made("tied qwen3", 0)


class Ours:
    """Our engine, asked in the same words."""

    is_alive = True

    def __init__(self, folder):
        self._policy, self._limits = load_policy(Model(path=str(folder)), torch.device("cpu")), LIMITS

    def all_of(self, asked, temperature):
        one = Engine(self._policy, self._limits, slots=32, longest_prompt=400, temperature=temperature)
        one.submit([Request(key=(i, 0), prompt=prompt, seed=seed) for i, (prompt, seed) in enumerate(asked)])
        found = {}
        while not one.is_idle:
            found |= {done.request.key[0]: done.rollout for done in one.step()}
        return [found[i] for i in range(len(asked))]


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    place = tmp_path_factory.mktemp("model")
    saved(model, place)
    return place


@pytest.fixture(scope="module")
def vllm(run, folder):
    one = started(run, folder, LIMITS)
    yield one
    run(one.close())


@pytest.fixture(params=["vllm", "ours"])
def engine(request, folder, vllm):
    return vllm if request.param == "vllm" else Ours(folder)


@pytest.fixture
def limited(engine):
    """Gives the engine other limits for one test."""
    yield lambda **more: setattr(engine, "_limits", Limits(**more))
    engine._limits = LIMITS


@pytest.fixture
def limited_vllm(vllm):
    yield lambda **more: setattr(vllm, "_limits", Limits(**more))
    vllm._limits = LIMITS


def all_of(run, engine, asked, temperature=1.0):
    if isinstance(engine, Ours):
        return engine.all_of(asked, temperature)

    async def together():
        return await asyncio.gather(*(engine.answer(prompt, seed, temperature) for prompt, seed in asked))

    return run(together())


def same(a, b):
    return np.array_equal(a.tokens, b.tokens) and np.array_equal(a.behavior, b.behavior) and a.ending == b.ending


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_stamped_log_probabilities_are_those_of_transformers(run, engine, model, temperature):
    asked = [(prompt, seed) for prompt in PROMPTS for seed in range(3)]
    found = all_of(run, engine, asked, temperature)
    worst = max(
        np.abs(log_probs(model, prompt, one.tokens, temperature) - one.behavior)[one.is_trainable].max()
        for (prompt, _), one in zip(asked, found, strict=True)
    )
    print(f"largest error {worst:.1e}")
    assert worst < 1e-5
    assert all((one.versions == 0).all() for one in found)


def test_two_seeds_differ_and_one_repeats_alone_and_among_others(run, engine):
    asked = [(prompt, seed) for prompt in PROMPTS for seed in range(3)]
    together = all_of(run, engine, asked)
    for place in (0, 7, 22):
        assert same(together[place], all_of(run, engine, [asked[place]])[0])
    assert not same(together[21], together[22])


def test_the_answer_is_not_drawn_by_the_numbers_that_drew_the_thinking():
    """With one seed for both turns, the same prompt would lead to the same tokens in each."""
    from scalerl.rollout.vllm.answering import Answer, Said

    answer = Answer(numbers(3), LIMITS, seed=5)
    first = answer.turn()
    answer.say(Said(tokens=[9] * first.max_tokens, log_probs=[-1.0] * first.max_tokens, versions=[0] * 9), 0)
    assert first.seed != answer.turn().seed


@pytest.mark.parametrize(
    ("low", "extra", "answer", "phrase"), [(1, 0, 1, 1), (1, 4, 3, 3), (6, 4, 5, 2), (3, 1, 2, 1)]
)
def test_budgets_hold_and_the_forced_phrase_is_masked(run, engine, limited, low, extra, answer, phrase):
    forced = (*range(10, 10 + phrase - 1), CLOSE)
    limited(answer=answer, stops=(STOP, 3, 4), think=(low, low + extra), close=CLOSE, phrase=forced)
    asked = [(numbers(5 + i % 30), 100 * low + i) for i in range(40)]
    found = all_of(run, engine, asked)
    for (_, seed), one in zip(asked, found, strict=True):
        _holds(engine._limits, seed, one)
    assert {one.is_interrupted for one in found} == {True, False} or low == 1
    assert {one.ending for one in found} == {"stopped", "truncated"}


def _holds(limits, seed, one):
    tokens, phrase = one.tokens.tolist(), limits.phrase
    cut = draw_cut(limits, stream_of(seed))
    assert len(tokens) == len(one.behavior) == len(one.versions) == len(one.is_trainable)
    assert len(tokens) <= limits.most_tokens
    assert (one.ending == "stopped") == (tokens[-1] in limits.stops and bool(one.is_trainable[-1]))
    assert not set(tokens[:-1]) & set(limits.stops)
    assert (one.behavior[~one.is_trainable] == 0.0).all() and (one.behavior[one.is_trainable] < 0.0).all()
    if one.is_interrupted:
        assert np.flatnonzero(~one.is_trainable).tolist() == list(range(cut, cut + len(phrase)))
        assert tuple(tokens[cut : cut + len(phrase)]) == phrase and CLOSE not in tokens[:cut]
        assert one.ending == "stopped" or len(tokens) == cut + len(phrase) + limits.answer
    else:
        assert one.is_trainable.all()
        if CLOSE in tokens:
            place = tokens.index(CLOSE) + 1
            assert place <= cut and (one.ending == "stopped" or len(tokens) == place + limits.answer)
        else:
            assert one.ending == "stopped" and len(tokens) <= cut


def test_without_thinking_there_is_one_budget(run, engine, limited, model):
    limited(answer=20, stops=(STOP,), close=CLOSE)
    found = all_of(run, engine, [(numbers(7, 8), seed) for seed in range(64)])
    assert any(CLOSE in one.tokens[:-1] for one in found)
    assert all(len(one.tokens) == 20 or one.ending == "stopped" for one in found)
    assert not any(one.is_interrupted for one in found) and all(one.is_trainable.all() for one in found)


def test_tokens_follow_the_models_distribution(run, engine, limited, model):
    """The first token of many requests against the chances themselves: a chi-squared test."""
    limited(answer=1, stops=())
    prompt, count = numbers(7, 8, 9), 1_000
    found = all_of(run, engine, [(prompt, seed) for seed in range(count)])
    seen = np.bincount([int(one.tokens[0]) for one in found], minlength=VOCABULARY)
    with torch.no_grad():
        expected = count * model(torch.tensor([prompt.tolist()])).logits[0, -1].softmax(-1).numpy().astype(float)
    is_common = expected > 5
    statistic = ((seen - expected)[is_common] ** 2 / expected[is_common]).sum()
    freedom = is_common.sum()
    assert statistic < freedom + 5 * np.sqrt(2 * freedom)


def test_tokens_are_counted(run, vllm, limited_vllm):
    limited_vllm(answer=8, stops=())
    sampled, prefilled = vllm.num_sampled, vllm.num_prefilled
    prompt = numbers(*([33] * 70))
    run(vllm.answer(prompt, 1, 1.0))
    assert (vllm.num_sampled - sampled, vllm.num_prefilled - prefilled) == (8, 70)
    run(vllm.answer(prompt, 2, 1.0))
    assert vllm.num_prefilled - prefilled == 70 + 70 - 64  # two whole blocks were still there


def test_what_vllm_would_do_differently_is_refused(run, vllm):
    with pytest.raises(InputError, match="max_model_len"):
        run(vllm.answer(numbers(*([3] * 2040)), 0, 1.0))
    with pytest.raises(InputError, match="temperature"):
        run(vllm.answer(numbers(3), 0, 0.0))


def test_an_answer_that_is_cancelled_leaves_the_engine_whole(run, vllm, limited_vllm):
    limited_vllm(answer=400, stops=())

    async def cancelled():
        task = asyncio.create_task(vllm.answer(numbers(3, 4), 0, 1.0))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await vllm.answer(numbers(3, 4), 0, 1.0)

    assert len(run(cancelled()).tokens) == 400


def test_more_prompts_than_vllm_reads_at_once_are_read_whole(run, engine, limited):
    """A prompt read in parts ended vLLM on a CPU, where a generator has no offset to go back to."""
    limited(answer=3, stops=())
    prompts = [numbers(*np.random.default_rng(i).integers(3, VOCABULARY, 400)) for i in range(32)]
    found = all_of(run, engine, [(prompt, i) for i, prompt in enumerate(prompts)])
    assert [len(one.tokens) for one in found] == [3] * 32 and engine.is_alive
