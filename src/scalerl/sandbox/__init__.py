"""Untrusted Python programs, run apart: isolated by the kernel through bubblewrap, from warm workers."""

from scalerl.sandbox.availability import require, unavailable
from scalerl.sandbox.job import Job, Kind, Limits, Outcome
from scalerl.sandbox.sandbox import Sandbox

__all__ = ["Job", "Kind", "Limits", "Outcome", "Sandbox", "require", "unavailable"]
