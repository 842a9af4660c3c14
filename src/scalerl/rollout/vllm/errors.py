"""What goes wrong inside vLLM, as one error that can be read where vLLM is not installed."""

from __future__ import annotations


class VllmError(RuntimeError):
    """Something vLLM did or did not do, and the state that leaves the engine in."""
