"""Which rollouts a person wants to see."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scalerl.report.rollout_reading import Recorded


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What must be true of a rollout; right and wrong together ask for either."""

    is_right: bool = False
    is_wrong: bool = False
    is_interrupted: bool = False
    is_truncated: bool = False
    difficulty: str | None = None
    task: str | None = None
    prompt: str | None = None
    """A part of the prompt's id."""

    def admits(self, one: Recorded) -> bool:
        """Tell whether a rollout is asked for."""
        rollout, prompt = one.rollout, one.group.prompt
        return (
            (self.is_right == self.is_wrong or rollout.passed == self.is_right)
            and (rollout.is_interrupted or not self.is_interrupted)
            and (rollout.ending == "truncated" or not self.is_truncated)
            and self.difficulty in (None, prompt.difficulty)
            and self.task in (None, prompt.task)
            and (self.prompt or "") in prompt.id
        )

    def of_prompts(self) -> Choice:
        """The same prompts, whatever became of them."""
        return replace(self, is_right=False, is_wrong=False, is_interrupted=False, is_truncated=False)
