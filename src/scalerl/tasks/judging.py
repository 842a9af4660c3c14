"""Answers to verdicts, in order, by a judge that cannot hang, raise or take the run down with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType

from scalerl.errors import InputError
from scalerl.records import Prompt, Verdict
from scalerl.tasks.apart import Apart
from scalerl.tasks.judgement import checked, failure, judgement
from scalerl.tasks.task import Answer, Slow, Task, Waiting

Asked = tuple[Prompt, Answer]
Way = Callable[[Sequence[Asked]], list[Verdict]]


class Judge:
    """Judges quick tasks here, slow ones in processes of their own, and those that only wait in threads.

    Processes are started when they are first needed; as many answers as there are workers are judged at once.
    """

    def __init__(self, task: Task, *, workers: int = 1) -> None:
        self.task = task
        self._num_threads = workers
        self._workers = [Apart(task) for _ in range(workers)] if isinstance(task, Slow) else []

    def judge_all(self, asked: Sequence[Asked]) -> list[Verdict]:
        """A verdict for each answer, in their order; the error says where there could be none."""
        ways: dict[Way, list[int]] = {}
        for index, (prompt, _) in enumerate(asked):
            ways.setdefault(self._way(prompt), []).append(index)
        verdicts: dict[int, Verdict] = {}
        for way, places in ways.items():
            verdicts |= dict(zip(places, way([asked[index] for index in places]), strict=True))
        return [verdicts[index] for index in range(len(asked))]

    def close(self) -> None:
        """End the processes; the next question would start them again."""
        for worker in self._workers:
            worker.close()
        if isinstance(self.task, Waiting):
            self.task.close()

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _way(self, prompt: Prompt) -> Way:
        if self._seconds(prompt) is not None:
            return self._judged_apart
        is_waiting = isinstance(self.task, Waiting) and self.task.waits(prompt)
        return self._judged_in_threads if is_waiting else self._judged_here

    def _judged_here(self, asked: Sequence[Asked]) -> list[Verdict]:
        return [self._judged(one) for one in asked]

    def _judged_in_threads(self, asked: Sequence[Asked]) -> list[Verdict]:
        if self._num_threads == 1 or len(asked) == 1:
            return self._judged_here(asked)
        with ThreadPoolExecutor(self._num_threads) as pool:
            return list(pool.map(self._judged, asked))

    def _judged(self, one: Asked) -> Verdict:
        return judgement(self.task, *one)

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
