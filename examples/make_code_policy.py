"""Make the policy that the code demo starts from: a tiny model that has seen programs and worked digit chains.

    python examples/make_code_policy.py [FOLDER [DEVICE]]

A known share of what it has seen is wrong: what it writes most often is right, but far from everything, and
reinforcement has something to find. On one CPU thread it takes about a quarter of an hour. The shipped weights come
from a GPU, where it takes some minutes; those of a CPU differ in the last bits and are as good.
"""

import json
import re
import sys
from dataclasses import replace
from random import Random
from string import printable

import numpy as np
import torch
from code_steps import KINDS, LETTERS, Kind
from make_code_problems import DIFFICULTIES, HERE, Problem, Step, drawn, wrong_steps
from tokenizers import Regex, Tokenizer
from tokenizers.decoders import Fuse
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from scalerl.model.attention import NAME
from scalerl.model.policy import Policy
from scalerl.recipe.sections import Optimizer, PromptFormat
from scalerl.records import Prompt
from scalerl.rollout.encoding import Encoder
from scalerl.tasks import chain
from scalerl.tasks.worked_chain import worked
from scalerl.trainer.warmstart import Example, warm_start

PHASES = {1e-3: 1_500, 2e-4: 600}  # steps at each rate: the second settles what the first has found
BATCH = 96
CODE = 0.5  # share of programs
WRONG_STEPS, WRONG_FRAMES = 0.2, 0.1  # of programs
WRONG_RESULTS, INTERRUPTED = 0.03, 0.15  # of chains
LAYERS, WIDTH, HEADS, HEAD_WIDTH = 3, 128, 4, 32  # vLLM on a CPU wants heads of 32 at least

FENCE, CLOSED = "```python\n", "\n```"
FUSED = (
    FENCE, "```", "\n        ", "\n    ", "def solve(", "):", "print(", "return ", " = int(input())", " = input()",
    " = list(map(int, input().split()))", " = [x", " for x in a", " if x", "for i in range(len(a)):", "a[i]",
    "list(filter(lambda x: x", ".append(", ".sort()", ".reverse()", "[::-1]", "[1:]", "[:-1]", "[1:len(", "[0:-1]",
    "sum(a)", "max(a)", "len(a)", "len(s)", "sorted(", "reversed(", '"".join(', ".join(", ".split(", ".replace(",
    ".count(",
)  # fmt: skip
"""Pieces of programs that are one token; the rest are words, signs and digits, with the blank before them."""
HOLE = r' ?"?\{[kcd]\}"?'


def pieces():
    """Every token: letters that fit any text, then words of chains, of statements and of programs."""
    fused = "|".join(map(re.escape, sorted(FUSED, key=len, reverse=True)))
    program = re.compile(rf'{fused}| ?"[a-z]"| ?[A-Za-z]+| ?\d| ?[-+*/%<>=]+|.|\n')
    found = [*printable[:95], "\n", *chain.VOCABULARY[3:], *(f" {word}" for word in chain.VOCABULARY[3:])]
    found += [mark.format(letter) for letter in LETTERS for mark in ('"{}"', ' "{}"')]
    for kind in KINDS:
        found += [kind.asked, kind.given, f" {kind.name}"]
        found += [f" {verb} {end.text}." for end in kind.ends for verb in ("Print", "Return")]
        found += [part for one in kind.operations for part in re.split(HOLE, f" {one.text}") if part]
        texts = [text for one in kind.operations for text in (one.short, one.long)] + [kind.read]
        texts += [text for end in kind.ends for text in (f"print({end.printed})", f"return {end.returned}")]
        found += [piece for text in texts for piece in program.findall(re.sub(r"\{.\}", "2", text))]
    return list(dict.fromkeys([*found, *FUSED]))


def tokenizer():
    words = [chain.PAD, chain.END, chain.THINK_CLOSE, "<unk>", *pieces()]
    made = Tokenizer(WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    longest_first = sorted(words[4:], key=len, reverse=True)
    made.pre_tokenizer = Split(Regex("|".join(map(re.escape, longest_first)) + r"|[\s\S]"), "isolated")
    made.decoder = Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=chain.END, pad_token=chain.PAD, unk_token="<unk>",
        additional_special_tokens=[chain.THINK_CLOSE], clean_up_tokenization_spaces=False,
    )  # fmt: skip


def model(words):
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(words), hidden_size=WIDTH, intermediate_size=256, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=HEADS, head_dim=HEAD_WIDTH, max_position_embeddings=256,
        tie_word_embeddings=True, eos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id,
        bos_token_id=None, rope_theta=10_000.0,
    )  # fmt: skip
    config._attn_implementation = NAME
    return Qwen3ForCausalLM(config)


def programmed(random: Random, problem: Problem) -> str:
    """What a model should write after a problem, or nearly: a word of thought, and a program that may be wrong."""
    steps = [one for step in problem.steps for one in _perhaps_wrong(random, problem.kind, step)]
    code = replace(problem, steps=tuple(steps)).program(is_short=random.random() < 0.5)
    if random.random() < WRONG_FRAMES:
        code = _wrong_frame(random, problem.kind, code)
    return f" {problem.kind.name}{chain.THINK_CLOSE}{FENCE}{code}{CLOSED}{chain.END}"


def _perhaps_wrong(random: Random, kind: Kind, step: Step) -> tuple[Step, ...]:
    return random.choice(list(wrong_steps(kind, step))) if random.random() < WRONG_STEPS else (step,)


def _wrong_frame(random: Random, kind: Kind, code: str) -> str:
    """A program that reads wrongly, or ends without saying anything."""
    if random.random() < 0.5 and kind.read in code:
        return code.replace(kind.read, f"{kind.variable} = input()", 1)
    return code.rpartition("\n")[0]


def chained(random: np.random.Generator) -> tuple[str, str]:
    """A digit chain and its working; the blanks before tags go, they are no part of a word."""
    question = chain.drawn(int.from_bytes(random.bytes(16), "big"), (2, 8))
    prompt = Prompt(id="", task="chain", text=question.text, answer=None)
    style = "verbose" if random.random() < 0.5 else "terse"
    text = worked(prompt, style, random, wrong_steps=WRONG_RESULTS, interrupted=INTERRUPTED)
    return question.text, re.sub(r" (?=<)", "", f" {text}")


def coded(random: Random, held_out: set[str]) -> tuple[str, str]:
    """A problem that is not held out and an answer."""
    while (problem := drawn(random, random.choice(KINDS), random.choice(DIFFICULTIES))).statement in held_out:
        pass
    return problem.statement, programmed(random, problem)


def batches(encoder, steps):
    held_out = {json.loads(line)["prompt"] for line in (HERE / "held_out.jsonl").read_text().splitlines()}
    random, digits = Random(steps), np.random.default_rng(steps)  # other examples in each phase
    for _ in range(steps):
        num_coded = round(CODE * BATCH)
        texts = [coded(random, held_out) for _ in range(num_coded)]
        yield [example(encoder, *one) for one in texts + [chained(digits) for _ in range(BATCH - num_coded)]]


def example(encoder, asked, answered):
    prompt = encoder.prompt(Prompt(id="", task="", text=asked, answer=None))
    answer = encoder.tokenizer(answered, add_special_tokens=False)["input_ids"]
    return Example(prompt=prompt, answer=np.array(answer, np.int32))


def main(folder=HERE, device="cpu"):
    torch.set_num_threads(1)
    words = tokenizer()
    encoder = Encoder(words, PromptFormat(chat_template=False))
    policy = Policy(model(words).to(device))
    padded_tokens = 2_048 if device == "cpu" else 65_536  # padding costs time on a CPU, calls cost it on a GPU
    for rate, steps in PHASES.items():
        warm_start(
            policy, batches(encoder, steps),
            Optimizer(rate=rate, warmup_steps=100, micro_batch_tokens=padded_tokens),
            watch=lambda step, loss: print(f"{step:5} {loss:.4f}", flush=True) if step % 100 == 0 else None,
        )  # fmt: skip
    policy.module.save_pretrained(folder)
    words.save_pretrained(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
