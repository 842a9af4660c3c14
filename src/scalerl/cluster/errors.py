"""What goes wrong between processes, in words."""

from __future__ import annotations

from scalerl.errors import StoppedError


class LostError(RuntimeError):
    """A process of the cluster died, hung or cannot be reached any more; what it held is gone."""


class TrainersLostError(LostError):
    """A trainer rank is lost, and with it the weights of all: everything goes back to the last checkpoint."""


class TooManyRestartsError(StoppedError):
    """Replacing what was lost does not help any more."""
