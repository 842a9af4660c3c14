"""Make the policy that the demo starts from: a tiny model that has seen worked digit chains, right and wrong.

    python examples/make_demo_policy.py [FOLDER [DEVICE]]

On one CPU thread it takes some minutes and gives the shipped weights again (bit for bit on the same machine and
library versions).
"""

import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from scalerl.model.attention import NAME
from scalerl.model.policy import Policy
from scalerl.recipe.sections import Optimizer, PromptFormat
from scalerl.records import Prompt
from scalerl.rollout.encoding import Encoder
from scalerl.tasks.chain import END, PAD, THINK_CLOSE, VOCABULARY, drawn
from scalerl.tasks.worked_chain import worked
from scalerl.trainer.warmstart import Example, warm_start

STEPS, BATCH = 2_200, 128
WRONG_STEPS, INTERRUPTED = 0.03, 0.15
CHAINS = (2, 8)
HEADS, WIDTH = 4, 24


def tokenizer():
    words = Tokenizer(
        WordLevel({word: index for index, word in enumerate([*VOCABULARY, "<unk>"])}, unk_token="<unk>")
    )
    words.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token=END, pad_token=PAD, unk_token="<unk>",
        additional_special_tokens=[THINK_CLOSE], clean_up_tokenization_spaces=False,
    )  # fmt: skip


def model(words, heads=HEADS, width=WIDTH):
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(words), hidden_size=96, intermediate_size=256, num_hidden_layers=2,
        num_attention_heads=heads, num_key_value_heads=heads, head_dim=width, max_position_embeddings=256,
        tie_word_embeddings=True, eos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id,
        bos_token_id=None, rope_theta=10_000.0,
    )  # fmt: skip
    config._attn_implementation = NAME
    return Qwen3ForCausalLM(config)


def batches(encoder, steps=STEPS, batch=BATCH, chains=CHAINS):
    random = np.random.default_rng(1)
    for _ in range(steps):
        yield [example(encoder, random, chains) for _ in range(batch)]


def example(encoder, random, chains=CHAINS):
    question = drawn(int.from_bytes(random.bytes(16), "big"), chains)
    prompt = Prompt(id="", task="chain", text=question.text, answer=None)
    style = "verbose" if random.random() < 0.5 else "terse"
    text = worked(prompt, style, random, wrong_steps=WRONG_STEPS, interrupted=INTERRUPTED)
    answer = encoder.tokenizer(text, add_special_tokens=False)["input_ids"]
    return Example(prompt=encoder.prompt(prompt), answer=np.array(answer, np.int32))


def main(folder, device="cpu", shape=(HEADS, WIDTH), **size):
    torch.set_num_threads(1)
    words = tokenizer()
    encoder = Encoder(words, PromptFormat(chat_template=False))
    policy = Policy(model(words, *shape).to(device))
    warm_start(
        policy, batches(encoder, **size), Optimizer(rate=1e-3, warmup_steps=100, betas=(0.9, 0.95)),
        watch=lambda step, loss: print(f"{step:5} {loss:.4f}", flush=True) if step % 100 == 0 else None,
    )  # fmt: skip
    policy.module.save_pretrained(folder)
    words.save_pretrained(folder)


if __name__ == "__main__":
    here = Path(__file__).parent.parent / "src" / "scalerl" / "demo"
    main(*(sys.argv[1:] or [here]))
