"""The loop on a cluster, which goes back to the last checkpoint when the trainers are lost."""

from __future__ import annotations

from collections.abc import Callable

from scalerl.cluster.errors import AnswersFailedError, LostError, TooManyRestartsError, TrainersLostError
from scalerl.cluster.learning import ClusterTrainer
from scalerl.pipeline.running import Started, charge_redone


def run(started: Started, tell: Callable[[str], None]) -> None:
    """Train to the end; all ranks roll back together, and the logs with them, as after a resume."""
    trainer = started.parts.trainer
    assert isinstance(trainer, ClusterTrainer)
    most = started.parts.recipe.runtime.restarts
    if started.run.latest_checkpoint() is None:
        started.loop.keep()  # there is always something to go back to
    lost: LostError | None = None
    while True:
        try:
            if lost is not None:
                _roll_back(started, trainer)
            started.loop.run()
            return
        except (AnswersFailedError, TooManyRestartsError):
            started.loop.keep()  # the trainers are whole: nothing that was learned is lost
            raise
        except TrainersLostError as problem:
            lost = problem
            if trainer.num_restarts >= most:
                raise TooManyRestartsError(
                    f"trainer ranks were restarted {most} times, runtime.restarts; the last: {problem}. "
                    "The last checkpoint is whole: --resume goes on from there"
                ) from problem
            tell(f"{problem}; all ranks go back to the last checkpoint")


def _roll_back(started: Started, trainer: ClusterTrainer) -> None:
    trainer.restart()
    checkpoint = started.run.latest_checkpoint()
    assert checkpoint is not None, "a run on a cluster begins with a checkpoint"
    started.run.cut_back(checkpoint)
    started.loop.resume(checkpoint)
    charge_redone(started.parts, started.run)
