"""The engine: what it samples, how answers end, and that nothing beside an answer changes it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import SHAPES, llama, policy

from scalerl.model.policy import Policy
from scalerl.rollout.engine import Engine, Request
from scalerl.rollout.limits import Limits

STOP, CLOSE, PHRASE = 1, 2, (5, 6, 2)
LIMITS = Limits(answer=6, stops=(STOP,), think=(4, 9), close=CLOSE, phrase=PHRASE)


def engine(ours, *, slots=6, limits=LIMITS, temperature=1.0):
    return Engine(ours, limits, slots=slots, longest_prompt=12, temperature=temperature)


def requests(count, samples=2):
    random = np.random.default_rng(0)
    prompts = [random.integers(3, 40, random.integers(1, 12)).astype(np.int32) for _ in range(count)]
    return [Request(key=(i, j), prompt=prompts[i], seed=100 * i + j) for i in range(count) for j in range(samples)]


def answers(one, asked):
    one.submit(asked)
    found = {}
    while not one.is_idle:
        found |= {done.request.key: done.rollout for done in one.step()}
    return found


def same(a, b):
    return (
        np.array_equal(a.tokens, b.tokens) and np.array_equal(a.behavior, b.behavior)
        and np.array_equal(a.versions, b.versions) and a.ending == b.ending
    )  # fmt: skip


@torch.no_grad()
def log_probs(ours, prompt, rollout, temperature=1.0):
    """What the trainer's half says of the same tokens."""
    tokens = torch.from_numpy(np.concatenate([prompt, rollout.tokens]).astype(np.int64))
    hidden = ours.hidden(tokens[None])[0, len(prompt) - 1 : -1]
    return ours.log_probs(hidden, tokens[len(prompt) :], temperature)[0].numpy()


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_stamped_log_probabilities_are_the_trainers(kind, temperature):
    ours, asked = policy(kind), requests(8)
    found = answers(engine(ours, temperature=temperature), asked)
    assert len(found) == 16
    errors = [
        (log_probs(ours, one.prompt, found[one.key], temperature) - found[one.key].behavior)[
            found[one.key].is_trainable
        ]
        for one in asked
    ]
    assert np.sqrt(np.mean(np.concatenate(errors) ** 2)) < 1e-5


@pytest.mark.parametrize("kind", ["qwen3", "llama"])
def test_an_answer_does_not_depend_on_what_runs_beside_it(kind):
    ours, asked = policy(kind), requests(10)
    together = answers(engine(ours), asked)
    reversed_ = answers(engine(ours), asked[::-1])
    assert all(same(together[key], reversed_[key]) for key in together)
    for one in asked[::5]:
        assert same(answers(engine(ours), [one])[one.key], together[one.key])


def test_two_seeds_differ_and_one_seed_repeats():
    ours = policy()
    prompt = np.array([7, 8, 9], np.int32)
    found = answers(engine(ours), [Request(key=(0, i), prompt=prompt, seed=i // 2) for i in range(6)])
    assert same(found[0, 0], found[0, 1]) and not same(found[0, 0], found[0, 2])


def test_tokens_follow_the_models_distribution():
    """The first token of many requests against the chances themselves: a chi-squared test."""
    ours = policy()
    prompt, count = np.array([7, 8, 9], np.int32), 3_000
    one = engine(ours, slots=200, limits=Limits(answer=1, stops=(STOP,)))
    found = answers(one, [Request(key=(i, 0), prompt=prompt, seed=i) for i in range(count)])
    seen = np.bincount([int(r.tokens[0]) for r in found.values()], minlength=40)
    with torch.no_grad():
        hidden = ours.hidden(torch.from_numpy(prompt.astype(np.int64))[None])[0, -1:]
        chances = ours.logits(hidden).softmax(-1)[0].numpy().astype(float)
    expected = chances * count
    is_common = expected > 5
    statistic = ((seen - expected)[is_common] ** 2 / expected[is_common]).sum()
    freedom = is_common.sum()
    assert statistic < freedom + 5 * np.sqrt(2 * freedom)


@settings(deadline=None, max_examples=25)
@given(
    low=st.integers(1, 6),
    extra=st.integers(0, 4),
    answer=st.integers(1, 5),
    phrase=st.integers(1, 3),
    slots=st.integers(1, 9),
    seed=st.integers(0, 1_000),
)
def test_budgets_hold_and_the_forced_phrase_is_masked(low, extra, answer, phrase, slots, seed):
    forced = (*range(10, 10 + phrase - 1), CLOSE)
    limits = Limits(answer=answer, stops=(STOP,), think=(low, low + extra), close=CLOSE, phrase=forced)
    asked = [Request(key=(i, 0), prompt=np.array([3 + i], np.int32), seed=seed + i) for i in range(6)]
    found = answers(engine(policy(), slots=slots, limits=limits), asked)
    assert len(found) == 6
    for one in found.values():
        tokens = one.tokens.tolist()
        assert len(tokens) <= limits.most_tokens
        assert (one.ending == "stopped") == (tokens[-1] == STOP and bool(one.is_trainable[-1]))
        assert STOP not in tokens[:-1]
        assert one.behavior[~one.is_trainable].tolist() == [0.0] * int((~one.is_trainable).sum())
        if one.is_interrupted:
            cut = int(np.flatnonzero(~one.is_trainable)[0])
            assert low <= cut <= low + extra and tuple(tokens[cut : cut + phrase]) == forced
            assert CLOSE not in tokens[:cut] and (~one.is_trainable).sum() == phrase
            assert len(tokens) <= cut + phrase + answer
            assert one.ending == "stopped" or len(tokens) == cut + phrase + answer
        else:
            assert one.is_trainable.all()
            if CLOSE in tokens:
                place = tokens.index(CLOSE) + 1
                assert place <= low + extra and len(tokens) <= place + answer
                assert one.ending == "stopped" or len(tokens) == place + answer
            else:
                assert one.ending == "stopped" and len(tokens) <= low + extra


def test_new_weights_are_taken_up_between_two_decode_steps_over_the_old_cache():
    """By hand: the first tokens under the old weights, the rest under the new ones with the old keys and values."""
    ours = policy("llama")
    limits = Limits(answer=8, stops=(39,))
    one = engine(ours, slots=1, limits=limits)
    prompt = np.array([7, 8, 9], np.int32)
    one.submit([Request(key=(0, 0), prompt=prompt, seed=3)])
    for _ in range(3):
        assert one.step() == []
    with torch.no_grad():
        for weights in ours.trainable().values():
            weights.mul_(1.1)
    one.take_up(1)
    done = []
    while not done:
        done = one.step()
    rollout = done[0].rollout
    assert rollout.versions.tolist() == [0] * 3 + [1] * (len(rollout.tokens) - 3)
    fresh = log_probs(ours, prompt, rollout)
    assert not np.allclose(fresh[3:], rollout.behavior[3:], atol=1e-4)  # a recomputed cache would give these
    old = policy("llama")
    assert np.allclose(log_probs(old, prompt, rollout)[:3], rollout.behavior[:3], atol=1e-5)
    assert np.isclose(by_old_keys(old, ours, prompt, rollout.tokens), rollout.behavior[3], atol=1e-5)


@torch.no_grad()
def by_old_keys(old, new, prompt, tokens):
    """Log-probability of the fourth token by transformers' own cache, filled by the old weights."""
    from transformers import DynamicCache

    old.module.set_attn_implementation("eager")
    new.module.set_attn_implementation("eager")
    said = torch.from_numpy(np.concatenate([prompt, tokens]).astype(np.int64))[None]
    cache = DynamicCache()
    old.module(said[:, :5], past_key_values=cache, use_cache=True)
    logits = new.module(said[:, 5:6], past_key_values=cache, use_cache=True).logits[0, -1]
    return float(logits.log_softmax(-1)[said[0, 6]])


@pytest.mark.parametrize("steps", [0, 1, 4, 7])
def test_a_state_taken_at_any_step_goes_on_bit_for_bit(steps):
    ours, asked = policy(), requests(6)
    whole = answers(engine(ours), asked)
    first = engine(ours)
    first.submit(asked)
    found = {}
    for _ in range(steps):
        found |= {done.request.key: done.rollout for done in first.step()}
    second = engine(ours)
    second.restore(*first.state())
    while not second.is_idle:
        found |= {done.request.key: done.rollout for done in second.step()}
    assert found.keys() == whole.keys() and all(same(found[key], whole[key]) for key in whole)
    assert second.num_sampled == sum(len(one.tokens) for one in whole.values())


def test_a_state_without_keys_prefills_again():
    """What a GPU does on a resume: the same up to rounding while the weights are the same."""
    ours, asked = policy(), requests(6)
    whole = answers(engine(ours), asked)
    first = engine(ours)
    first.submit(asked)
    found = {}
    for _ in range(4):
        found |= {done.request.key: done.rollout for done in first.step()}
    tensors, facts = first.state()
    second = engine(ours)
    second.restore({name: one for name, one in tensors.items() if name not in ("keys", "values")}, facts)
    while not second.is_idle:
        found |= {done.request.key: done.rollout for done in second.step()}
    assert all(np.array_equal(found[key].tokens, whole[key].tokens) for key in whole)


def test_no_more_logits_than_a_chunk_while_sampling():
    from test_policy import WidestLogits

    ours = Policy(llama(vocab_size=152_000, hidden_size=16, head_dim=4, num_hidden_layers=1), chunk_tokens=4)
    one = Engine(ours, Limits(answer=3, stops=(STOP,)), slots=10, longest_prompt=12, temperature=1.0)
    with WidestLogits(152_000, 16) as seen:
        answers(one, requests(5))
    assert seen.most == 4
