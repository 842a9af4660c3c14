"""The training loop: ask, answer, judge, hand over; take a batch, learn, publish, look, remember.

Generation goes on until the trainer may take a batch, then one update is made, and the sequences in flight go on
under the new weights. On one device they stand still meanwhile, judges alone go on, and all that happens follows
from the recipe and the order written here, so that a run can be taken up again bit for bit on a CPU; on a cluster
they go on.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scalerl.errors import StoppedError
from scalerl.pipeline import checkpointing
from scalerl.pipeline.backlog import Backlog
from scalerl.pipeline.chronicle import Chronicle
from scalerl.pipeline.metrics_cost import Reading
from scalerl.pipeline.parts import Parts
from scalerl.records import Group
from scalerl.run.checkpoints import Checkpoint
from scalerl.run.directory import Run
from scalerl.trainer.finite import NonFiniteError
from scalerl.trainer.update_report import UpdateReport


class Loop:
    """A run that can start, go on from a checkpoint, and stop at any decode step."""

    def __init__(self, parts: Parts, run: Run, chronicle: Chronicle, is_stopping: Callable[[], bool]) -> None:
        self._parts, self._run, self._chronicle = parts, run, chronicle
        self._is_stopping = is_stopping
        self._backlog = Backlog(parts.curriculum)
        self._kept_at = -1
        """Step of the last checkpoint; one that was cut short mid-step does not count."""
        self._trouble: StoppedError | None = None
        """What ends the run as soon as the step under way has been told of."""

    @property
    def step(self) -> int:
        """Optimizer steps so far, flat ones counted: the policy's version."""
        return self._parts.staleness.version

    @property
    def is_done(self) -> bool:
        """Whether the recipe's last step has been made."""
        return self.step >= self._parts.recipe.steps

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint of this run."""
        checkpointing.load(checkpoint.path, self._parts, self._backlog, self._chronicle.remembering)
        self._chronicle.reading = Reading.of(self._parts.ledger)
        self._chronicle.forget()
        self._trouble = None

    def run(self) -> None:
        """Train to the last step, or until asked to stop; either way the last thing is a checkpoint."""
        is_missing = not self._chronicle.has_evaluated(self.step) and self._is_due(
            self._parts.recipe.evaluation.every
        )
        if is_missing or not self._chronicle.has_begun:
            self._evaluate()  # before any clock that counts runs: the curve begins at no compute at all
        with self._parts.ledger.clock("idle"):
            while not self.is_done and self._generate() and self._learn():
                if self._is_due(self._parts.recipe.evaluation.every):
                    self._evaluate()
                if self._is_due(self._parts.recipe.checkpoint.every):
                    self.keep()
                    self._kept_at = self.step
            if self._kept_at != self.step:
                self.keep()

    def _generate(self) -> bool:
        """Decode until a batch can be learned from; false when asked to stop before that."""
        with self._parts.ledger.clock("generation"):
            while not self._is_stopping():
                if self._parts.staleness.may_take():
                    return True
                self._go_on()
                self._refuse_to_wait_for_nothing()
        return False

    def _go_on(self) -> None:
        """Admit what may start, decode a little, and take what will have been judged when it is needed."""
        parts = self._parts
        self._admit()
        for hearing in parts.court.hear(parts.generator.advance()):
            parts.staleness.hand_over(hearing.admission)
            self._backlog.add(hearing)
        for admission in parts.generator.given_up():
            parts.staleness.give_back(admission)

    def _refuse_to_wait_for_nothing(self) -> None:
        parts = self._parts
        is_still = parts.generator.is_idle and parts.court.is_idle
        if is_still and not (parts.staleness.may_admit() or parts.staleness.may_take()):
            raise StoppedError("nothing is in flight, nothing may start and no batch is whole: a group was lost")

    def _admit(self) -> None:
        """Ask new prompts while a slot is free and the bound on staleness allows it."""
        parts = self._parts
        while parts.generator.has_room and parts.staleness.may_admit():
            if parts.curriculum.begins_epoch(parts.staleness.next_task) and not self._settle():
                return
            ticket = parts.staleness.admit()
            parts.generator.ask(parts.curriculum.draw(ticket.task), ticket.number)

    def _settle(self) -> bool:
        """Wait until the curriculum knows of all that was answered; false when asked to stop before that."""
        if self._backlog.is_settled:
            return True
        with self._parts.ledger.clock("judging"):
            return self._backlog.settle(self._is_stopping)

    def _learn(self) -> bool:
        """One optimizer step on the groups that are due first; then the engine goes on under the new weights.

        False when asked to stop before their verdicts have come: then nothing was learned, and nothing is lost.
        """
        parts, before = self._parts, self._chronicle.reading
        taken = [ticket.number for ticket in parts.staleness.take()]
        with parts.ledger.clock("judging"):
            groups = self._backlog.groups(taken, self._is_stopping)
        if groups is None:
            return False
        lag = self.step - min(group.oldest_version for group in groups)
        assert lag <= parts.staleness.bound, f"a token is {lag} updates old, more than {parts.staleness.bound}"
        with parts.ledger.clock("training"):
            report = self._update(groups)
        self._backlog.remove(taken)
        parts.staleness.updated()
        self._until_told(lambda: parts.generator.take_up(self.step))
        self._charge(report)
        raised = self._chronicle.stepped(self.step, groups, report, before, Reading.of(parts.ledger))
        for alarm in raised:
            if alarm.stops_run:
                self.keep()
                raise StoppedError(alarm.text)
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble
        return True

    def _until_told(self, work: Callable[[], None]) -> None:
        """Put off what ends the run until the step that was made has been told of."""
        try:
            work()
        except StoppedError as trouble:
            self._trouble = self._trouble or trouble

    def _meanwhile(self) -> None:
        """What goes on while others learn, up to the first trouble."""
        if self._trouble is None:
            self._until_told(self._go_on)

    def _update(self, groups: list[Group]) -> UpdateReport:
        try:
            return self._parts.trainer.update(groups, self.step, self._meanwhile)
        except NonFiniteError:
            self.keep()  # no weight has moved: the last usable state is kept
            raise

    def _charge(self, report: UpdateReport) -> None:
        ledger, generator = self._parts.ledger, self._parts.generator
        ledger.num_generated_tokens = generator.num_sampled
        ledger.num_prefilled_tokens = generator.num_prefilled
        ledger.num_trained_tokens += report.num_tokens

    def _evaluate(self) -> None:
        ledger, asking = self._parts.ledger, self._parts.evaluator.asking
        before = asking.num_tokens
        if not self._settle():  # what training still has before the judges is no part of an evaluation
            return
        with ledger.clock("evaluation"):
            tallies = self._parts.evaluator.tallies(self.step, self._is_stopping)
            if tallies is None:
                return  # asked to stop: a resume finds that this point is missing
            ledger.num_evaluation_tokens += asking.num_tokens - before
            self._chronicle.evaluated(self.step, tallies)

    def keep(self) -> None:
        """Write a checkpoint of this moment."""

        def save(folder: Path) -> None:
            checkpointing.save(folder, self._parts, self._backlog, self._chronicle.remembering)

        self._run.checkpoint(self.step, save, keep=self._parts.recipe.checkpoint.keep)

    def _is_due(self, every: int) -> bool:
        return self.step % every == 0 or self.is_done
