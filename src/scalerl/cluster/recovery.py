"""The loop on a cluster, which goes back to the last checkpoint when the trainers are lost."""

from __future__ import annotations

from collections.abc import Callable

from scalerl.cluster.errors import LostError, TooManyRestartsError, TrainersLostError
from scalerl.cluster.learning import ClusterTrainer
from scalerl.errors import StoppedError
from scalerl.pipeline.running import Started, charge_redone


def run(started: Started, tell: Callable[[str], None]) -> None:
    """Train to the end; all ranks roll back together, and the logs with them, as after a resume."""
    trainer = started.parts.trainer
    assert isinstance(trainer, ClusterTrainer)
    most = started.parts.recipe.runtime.restarts
    if started.run.latest_checkpoint() is None:
        started.loop.keep()  # there is always something to go back to
    is_whole = True
    while True:
        try:
            if not is_whole:
                _roll_back(started, trainer)
            is_whole = True
            started.loop.run()
            return
        except TrainersLostError as problem:
            is_whole = False
            if trainer.num_restarts >= most:
                raise TooManyRestartsError(
                    f"trainer ranks were restarted {most} times, runtime.restarts; the last: {problem}. "
                    "The last checkpoint is whole: --resume goes on from there"
                ) from problem
            tell(f"{problem}; all ranks go back to the last checkpoint")
        except StoppedError as problem:
            if is_whole:  # on the way back there is nothing worth keeping but the checkpoint that is there
                _keep(started, problem)
            raise


def _keep(started: Started, problem: StoppedError) -> None:
    """Nothing that was learned is lost with a run that ends, unless the trainers are."""
    try:
        started.loop.keep()
    except LostError as another:
        raise StoppedError(
            f"{problem}; this moment could not be kept ({another}), the last checkpoint is whole"
        ) from problem


def _roll_back(started: Started, trainer: ClusterTrainer) -> None:
    trainer.restart()
    checkpoint = started.run.latest_checkpoint()
    assert checkpoint is not None, "a run on a cluster begins with a checkpoint"
    started.run.cut_back(checkpoint)
    started.loop.resume(checkpoint)
    charge_redone(started.parts, started.run)
