"""Answers to verdicts, in order, by a judge that cannot hang, raise or take the run down with it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType

from scalerl.errors import InputError
from scalerl.records import Prompt, Verdict
from scalerl.tasks.apart import Apart
from scalerl.tasks.judgement import checked, failure, judgement
from scalerl.tasks.task import Answer, Slow, Task

Asked = tuple[Prompt, Answer]


class Judge:
    """Judges quick tasks here and slow ones in processes of their own, started when they are first needed."""

    def __init__(self, task: Task, *, workers: int = 1) -> None:
        self.task = task
        self._workers = [Apart(task) for _ in range(workers)] if isinstance(task, Slow) else []

    def judge_all(self, asked: Sequence[Asked]) -> list[Verdict]:
        """A verdict for each answer, in their order; the error says where there could be none."""
        apart = [index for index, (prompt, _) in enumerate(asked) if self._seconds(prompt) is not None]
        verdicts = dict(zip(apart, self._judged_apart([asked[index] for index in apart]), strict=True))
        return [
            verdicts[index] if index in verdicts else judgement(self.task, *one) for index, one in enumerate(asked)
        ]

    def close(self) -> None:
        """End the processes; the next question would start them again."""
        for worker in self._workers:
            worker.close()

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _seconds(self, prompt: Prompt) -> float | None:
        return self.task.seconds(prompt) if isinstance(self.task, Slow) else None

    def _judged_apart(self, asked: Sequence[Asked]) -> list[Verdict]:
        if len(self._workers) == 1 or len(asked) <= 1:
            return [self._judged_by(self._workers[0], one) for one in asked]
        idle: SimpleQueue[Apart] = SimpleQueue()
        for worker in self._workers:
            idle.put(worker)

        def judged(one: Asked) -> Verdict:
            worker = idle.get()
            try:
                return self._judged_by(worker, one)
            finally:
                idle.put(worker)

        # A thread only waits for its process.
        with ThreadPoolExecutor(len(self._workers)) as pool:
            return list(pool.map(judged, asked))

    def _judged_by(self, worker: Apart, one: Asked) -> Verdict:
        prompt, answer = one
        seconds = self._seconds(prompt)
        assert seconds is not None
        worker.start()
        try:
            return checked(worker.ask("judge", prompt, answer, seconds=seconds))
        except (InputError, TimeoutError, ChildProcessError) as error:
            return failure(str(error))
