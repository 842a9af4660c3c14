"""Tags become one token each, and their rows begin in the middle of all others."""

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from scalerl.model.tags import add_tags, missing_tags

WORDS = ["<unk>", "<end>", "one", "two", "three"]


def tokenizer():
    found = Tokenizer(WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<unk>"))
    found.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=found, eos_token="<end>", unk_token="<unk>")


def module(num_rows, *, is_tied):
    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    return LlamaForCausalLM(LlamaConfig(vocab_size=num_rows, tie_word_embeddings=is_tied, **sizes))


def test_what_is_missing():
    assert missing_tags(tokenizer(), ["one", "", "<think>", "two three", "<think>"]) == ["<think>", "two three"]


@pytest.mark.parametrize("is_tied", [True, False])
@pytest.mark.parametrize(("num_rows", "then"), [(5, 7), (6, 7), (9, 9)])
def test_new_rows_are_the_mean_of_the_old_and_spare_rows_are_used(num_rows, then, is_tied):
    words, model = tokenizer(), module(num_rows, is_tied=is_tied)
    before = [layer.weight.clone() for layer in (model.get_input_embeddings(), model.get_output_embeddings())]
    add_tags(model, words, ["<think>", "</think>"])
    assert words("one </think>two", add_special_tokens=False)["input_ids"] == [2, 6, 3]
    assert missing_tags(words, ["<think>", "</think>"]) == []
    for old, layer in zip(before, (model.get_input_embeddings(), model.get_output_embeddings()), strict=True):
        assert layer.weight.shape[0] == then
        assert torch.equal(layer.weight[:5], old[:5])
        torch.testing.assert_close(layer.weight[5:7], old[:5].mean(0).expand(2, -1))
    assert (model.get_input_embeddings().weight is model.get_output_embeddings().weight) == is_tied
    assert model.config.vocab_size == then


def test_nothing_to_add_changes_nothing():
    words, model = tokenizer(), module(5, is_tied=True)
    add_tags(model, words, [])
    assert len(words) == 5 and model.get_input_embeddings().weight.shape[0] == 5


def test_a_tag_survives_decoding():
    words = tokenizer()
    add_tags(module(5, is_tied=True), words, ["</think>"])
    assert "</think>" in words.decode([2, 5, 3, 1], skip_special_tokens=True)
