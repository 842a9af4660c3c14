"""What goes wrong between processes, in words."""

from __future__ import annotations

from scalerl.errors import StoppedError


class LostError(StoppedError):
    """A process of the cluster died, hung or cannot be reached any more; what it held is gone."""


class TrainersLostError(LostError):
    """A trainer rank is lost, and with it the weights of all: everything goes back to the last checkpoint."""


class AnswersFailedError(StoppedError):
    """Too many groups cannot be answered; the trainers are whole."""


class TooManyRestartsError(StoppedError):
    """Replacing what was lost does not help any more."""


def first_line(error: BaseException) -> str:
    """What an error says in short; its name where it says nothing."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
