"""What vLLM says, and files of weights, read strictly; these need no vLLM."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import save, save_file

from scalerl.errors import InputError
from scalerl.rollout.limits import Limits
from scalerl.rollout.vllm.answering import Answer, Said
from scalerl.rollout.vllm.errors import VllmError
from scalerl.rollout.vllm.options import VllmOptions, engine_arguments
from scalerl.rollout.vllm.reading import said_of
from scalerl.rollout.vllm.weights import refuse_unlike, shapes_of, shapes_of_model
from scalerl.rollout.vllm.worker import checksum

LIMITS = Limits(answer=2, stops=(1,), think=(3, 3), close=2, phrase=(7, 2))


def chance(token, log_prob):
    return {token: SimpleNamespace(logprob=log_prob)}


def output(**more):
    fields = {
        "token_ids": (4, 5, 6),
        "logprobs": [chance(4, -1.0), chance(5, -2.0), chance(6, -3.0)],
        "finish_reason": "length",
        "weight_versions": [span("0", 0, 2), span("1", 2, 3)],
    }  # fmt: skip
    return SimpleNamespace(finished=True, outputs=[SimpleNamespace(**{**fields, **more})], num_cached_tokens=0)


def span(version, start, end):
    return SimpleNamespace(version=version, start=start, end=end)


def test_an_answer_is_read():
    assert said_of(output()) == Said(tokens=[4, 5, 6], log_probs=[-1.0, -2.0, -3.0], versions=[0, 0, 1])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"logprobs": None}, "without a log-probability"),
        ({"logprobs": [chance(4, -1.0)]}, "without a log-probability"),
        ({"logprobs": [chance(9, -1.0)] * 3}, "token 0 is nan"),
        ({"logprobs": [chance(4, -np.inf), chance(5, -1.0), {}]}, "token 0 is -inf"),
        ({"weight_versions": None}, "version of 0 tokens out of 3"),
        ({"weight_versions": [span("0", 0, 2)]}, "version of 2 tokens out of 3"),
        ({"weight_versions": [span("0", 1, 3)]}, "accounted for"),
        ({"weight_versions": [span("default", 0, 3)]}, "accounted for"),
        ({"finish_reason": "abort"}, "abort"),
        ({"token_ids": ()}, "after 0 tokens"),
    ],
)  # fmt: skip
def test_nothing_that_is_missing_is_made_up(more, words):
    with pytest.raises(VllmError, match=words):
        said_of(output(**more))
    with pytest.raises(VllmError):
        said_of(None)


def said(*tokens):
    return Said(tokens=list(tokens), log_probs=[-1.0] * len(tokens), versions=[0] * len(tokens))


def test_thinking_that_runs_out_is_interrupted():
    answer = Answer(np.array([3, 4], np.int32), LIMITS, seed=0)
    first = answer.turn()
    assert (first.tokens, first.max_tokens, first.stops, first.num_new) == ([3, 4], 3, [1, 2], 0)
    answer.say(said(8, 9, 10), version=5)
    second = answer.turn()
    assert (second.tokens, second.max_tokens, second.stops, second.num_new) == ([3, 4, 8, 9, 10, 7, 2], 2, [1], 3)
    answer.say(said(11, 1), version=5)
    one = answer.rollout()
    assert answer.turn() is None and one.is_interrupted and one.ending == "stopped"
    assert one.tokens.tolist() == [8, 9, 10, 7, 2, 11, 1] and one.versions.tolist() == [0, 0, 0, 5, 5, 0, 0]
    assert one.is_trainable.tolist() == [True] * 3 + [False] * 2 + [True] * 2
    assert one.behavior.tolist() == [-1, -1, -1, 0, 0, -1, -1] and one.text == "" and one.verdict is None


def test_thinking_that_closes_by_itself_even_at_its_last_token_is_not_interrupted():
    answer = Answer(np.array([3], np.int32), LIMITS, seed=0)
    answer.say(said(8, 9, 2), version=0)
    assert answer.turn().tokens == [3, 8, 9, 2] and answer.turn().num_new == 1
    answer.say(said(11, 12), version=0)
    one = answer.rollout()
    assert not one.is_interrupted and one.ending == "truncated" and one.is_trainable.all()


def test_a_stop_in_the_thinking_ends_the_answer():
    answer = Answer(np.array([3], np.int32), LIMITS, seed=0)
    answer.say(said(8, 1), version=0)
    assert answer.turn() is None and answer.rollout().ending == "stopped"


def test_one_turn_without_thinking():
    answer = Answer(np.array([3], np.int32), Limits(answer=2, stops=(1,), close=2), seed=0)
    assert (answer.turn().max_tokens, answer.turn().stops) == (2, [1])
    answer.say(said(2, 2), version=0)
    assert answer.turn() is None and answer.rollout().ending == "truncated"


def test_shapes_are_read_from_files_and_models(tmp_path):
    weights = {"a": torch.zeros(2, 3), "b": torch.zeros(4)}
    expected = {"a": (2, 3), "b": (4,)}
    save_file(weights, tmp_path / "model.safetensors")
    assert shapes_of(tmp_path / "model.safetensors") == expected
    assert shapes_of_model(tmp_path) == expected
    save_file({"c": torch.zeros(1)}, tmp_path / "part-2.safetensors")
    index = {"weight_map": {"a": "model.safetensors", "b": "model.safetensors", "c": "part-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert shapes_of_model(tmp_path) == {**expected, "c": (1,)}
    with pytest.raises(InputError, match="safetensors"):
        shapes_of_model(tmp_path / "none")
    for spoiled in (b"", b"1234567", save(weights)[:-1], save(weights) + b"0", b"\x02" + bytes(7) + b"{]"):
        (tmp_path / "spoiled").write_bytes(spoiled)
        with pytest.raises(VllmError):
            shapes_of(tmp_path / "spoiled")


def test_a_tied_head_may_be_there_or_not():
    body, head = {"model.norm.weight": (2,)}, {"lm_head.weight": (4, 2)}
    refuse_unlike(body, body | head, is_tied=True)
    refuse_unlike(body | head, body, is_tied=True)
    with pytest.raises(VllmError, match="lack lm_head"):
        refuse_unlike(body | head, body, is_tied=False)
    with pytest.raises(VllmError, match="hold lm_head"):
        refuse_unlike(body, body | head, is_tied=False)


def test_the_head_is_float32_over_a_body_in_bfloat16_and_only_a_cpu_is_eager():
    def arguments(dtype, is_fp32_head, is_cpu):
        given = VllmOptions(model="m", dtype=dtype, is_fp32_head=is_fp32_head, max_model_len=8, max_sequences=2)
        return engine_arguments(given, is_cpu=is_cpu)

    assert arguments("bfloat16", True, False)["hf_overrides"] == {"head_dtype": "float32"}
    assert "hf_overrides" not in arguments("bfloat16", False, False) | arguments("float32", True, False)
    assert arguments("float32", True, True)["enforce_eager"] and "enforce_eager" not in arguments(
        "float32", True, False
    )


class Packed(torch.nn.Module):
    """A layer as vLLM has it on a CPU: it multiplies by a copy that is no parameter."""

    params_dtype, embedding_dim = torch.float32, 3

    def __init__(self, kept, packed):
        super().__init__()
        self.weight = torch.nn.Parameter(kept)
        self.cpu_linear = lambda x, weight, bias: x @ packed.T


def test_the_checksum_is_of_what_is_multiplied_by_not_of_what_is_kept():
    weights, other, none = torch.randn(4, 3), torch.randn(4, 3), torch.empty(0)
    assert checksum(Packed(weights, weights)) == checksum(Packed(weights.clone(), weights.clone()))
    assert checksum(Packed(weights, weights)) != checksum(Packed(weights, other))
    assert checksum(Packed(weights, weights)) != checksum(Packed(other, weights))
    assert checksum(Packed(none, weights)) != checksum(Packed(none, other))
