"""How much faster a whole training step is than one of TRL's GRPOTrainer: same model, prompts, batch and lengths.

    pip install -e '.[bench]'
    python bench/training_step.py            512 rollouts a step on a CPU, fixed and ragged lengths

A step is everything: sampling, judging, forward, backward, optimizer. Lengths are ragged because a nearly uniform
model ends an answer with one word in forty. Measure on a quiet machine: a second job spoils it many times over.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

PROMPTS, SAMPLES, PROMPT_TOKENS = 64, 8, 12
TASK = f"""
from scalerl.records import Prompt, Verdict
class Parity:
    name = "parity"
    def prompts(self):
        return [Prompt(id=f"parity:{{i}}", task="parity", text=text(i), answer=i) for i in range(512)]
    def held_out(self, count):
        return [Prompt(id=f"parity:{{i}}", task="parity", text=text(i), answer=i) for i in range(512, 512 + count)]
    def judge(self, prompt, answer):
        passed = len(answer.text) % 2 == 0
        return Verdict(score=float(passed), passed=passed)
def text(i):
    return " ".join(f"w{{10 + i // 20 ** (j % 3) % 20}}" for j in range({PROMPT_TOKENS}))
"""


def saved(folder, words, width, inner):
    names = {"<end>": 0, "<pad>": 1, **{f"w{i}": i for i in range(2, words)}}
    raw = Tokenizer(WordLevel(names, unk_token="<pad>"))
    raw.pre_tokenizer = WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<end>", pad_token="<pad>")
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=words,
            hidden_size=width,
            intermediate_size=inner,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            head_dim=width // 4,
            tie_word_embeddings=True,
            eos_token_id=0,
            pad_token_id=1,
            bos_token_id=None,
        )
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    print(f"{sum(one.numel() for one in model.parameters()):,} parameters")


def ours(folder, most, steps, threads):
    from scalerl.pipeline.running import start
    from scalerl.recipe.reading import load

    times = []

    class Watch:
        def step(self, step, metrics):
            times.append((metrics["seconds/charged"], metrics["length/mean"]))

        def evaluated(self, points, forecasts): ...
        def alarm(self, text): ...
        def close(self): ...

    task = Path(folder, "parity.py")
    task.write_text(TASK)
    recipe = load("scalerl", [
        f"steps={steps}", f"model.path={folder}", "task.kind=python", f"task.path={task}:Parity",
        "prompt.chat_template=false", "prompt.think_close=", "length.kind=limit", f"length.max_tokens={most}",
        f"batch.prompts={PROMPTS}", f"batch.samples={SAMPLES}", "objective.truncated=keep", "evaluation.every=1000",
        "evaluation.prompts=1", "evaluation.samples=1", "off_policy.kind=phased", "off_policy.k=1",
        "checkpoint.every=1000", "log.rollouts_every=0", "log.kl_to_start=false", f"runtime.threads={threads}",
        "optimizer.micro_batch_tokens=4096", "runtime.device=cpu", f"engine.slots={SLOTS}",
    ])  # fmt: skip
    with (
        tempfile.TemporaryDirectory() as run,
        start(recipe, Path(run) / "run", lambda _: [Watch()], lambda: False) as it,
    ):
        it.loop.run()
    return times[2:]


def trl(folder, most, steps, threads):
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    torch.set_num_threads(threads)
    scope = {}
    exec(TASK, scope)
    data = Dataset.from_list([{"prompt": one.text} for one in scope["Parity"]().prompts()])
    times, lengths = [], []

    class Clock(TrainerCallback):
        def on_step_begin(self, *_, **__):
            self.begin = time.perf_counter()

        def on_step_end(self, *_, **__):
            times.append(time.perf_counter() - self.begin)

    def judge(completions, completion_ids, **_):
        lengths.append(statistics.mean(map(len, completion_ids)))
        return [float(len(one) % 2 == 0) for one in completions]

    # fmt: off
    with tempfile.TemporaryDirectory() as out:
        trainer = GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(folder),
            processing_class=AutoTokenizer.from_pretrained(folder),
            reward_funcs=judge, train_dataset=data, callbacks=[Clock()],
            args=GRPOConfig(
                output_dir=out, max_steps=steps, per_device_train_batch_size=PROMPTS * SAMPLES,
                num_generations=SAMPLES, max_completion_length=most, temperature=1.0, beta=0.0, learning_rate=5e-7,
                use_cpu=True, bf16=False, report_to=[], logging_steps=1_000, save_strategy="no", disable_tqdm=True,
                gradient_checkpointing=False,
            ),
        )
        trainer.train()
    # fmt: on
    return list(zip(times, lengths, strict=True))[2:]


def main():
    global SLOTS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--slots", type=int, default=512)
    given = parser.parse_args()
    SLOTS = given.slots
    for name, words, width, inner, most in (("fixed", 2_048, 96, 256, 20), ("ragged", 40, 128, 384, 200)):
        with tempfile.TemporaryDirectory() as folder:
            saved(folder, words, width, inner)
            best = {}
            for label, run in (("trl", trl), ("scalerl", ours)):
                for threads in given.threads:
                    found = run(folder, most, given.steps, threads)
                    seconds, length = (statistics.median(column) for column in zip(*found, strict=True))
                    print(
                        f"{name:7} {label:8} {threads} threads: {seconds:.2f} s a step, {length:.1f} tokens each",
                        flush=True,
                    )
                    best[label] = min(best.get(label, 9e9), seconds / length)
            print(
                f"{name}: scalerl / TRL in tokens a second, each with its best threads: "
                f"{best['trl'] / best['scalerl']:.2f}"
            )


if __name__ == "__main__":
    main()
