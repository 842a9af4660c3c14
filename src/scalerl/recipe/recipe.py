"""All choices of one run."""

from __future__ import annotations

from dataclasses import dataclass

from scalerl.recipe.knob import knob, section
from scalerl.recipe.lengths import Interruption, Length
from scalerl.recipe.losses import Cispo, Loss
from scalerl.recipe.sections import (
    Batch,
    Checkpoint,
    Curriculum,
    Engine,
    Evaluation,
    Log,
    Model,
    Objective,
    OffPolicy,
    Optimizer,
    PromptFormat,
    Reward,
    RuntimeSection,
    Sampling,
)
from scalerl.recipe.tasks import Chain, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """Everything that decides a run; its defaults are the ScaleRL recipe."""

    steps: int = knob(1_000, "Optimizer steps.", at_least=0)
    seed: int = knob(0, "Seed of everything random in the run.", at_least=0)
    reward: Reward = knob("task", "What is rewarded: the task, or a control: a coin flip, or the format alone.")
    model: Model = section(Model, "The policy that is trained.")
    task: Task = section(Chain, "What is asked and how answers are judged.")
    prompt: PromptFormat = section(PromptFormat, "How a question becomes tokens.")
    batch: Batch = section(Batch, "How much one optimizer step sees.")
    sampling: Sampling = section(Sampling, "How training rollouts are sampled.")
    length: Length = section(Interruption, "How long an answer may be.")
    loss: Loss = section(Cispo, "What is descended.")
    objective: Objective = section(Objective, "From rewards to the weight of every token.")
    curriculum: Curriculum = section(Curriculum, "Which prompts are drawn.")
    off_policy: OffPolicy = section(OffPolicy, "How far generation may run ahead of training.")
    optimizer: Optimizer = section(Optimizer, "AdamW.")
    engine: Engine = section(Engine, "How rollouts are generated.")
    evaluation: Evaluation = section(Evaluation, "The curve.")
    checkpoint: Checkpoint = section(Checkpoint, "What survives.")
    runtime: RuntimeSection = section(RuntimeSection, "Where the loop runs.")
    log: Log = section(Log, "What is written beside metrics.jsonl.")
