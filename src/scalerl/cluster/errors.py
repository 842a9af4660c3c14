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
