"""Answers to verdicts, whatever an answer does to its judge: none can hang a run or end it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from types import TracebackType

from scalerl.errors import InputError
from scalerl.records import Prompt, Verdict
from scalerl.tasks.apart import Apart
from scalerl.tasks.judgement import checked, failure, judgement
from scalerl.tasks.task import Answer, Slow, Task, Waiting

Asked = tuple[Prompt, Answer]
PATIENCE_SECONDS = 0.1  # until what is being judged is broken off


class Judge:
    """Judges quick tasks at once; slow ones in processes of their own and those that only wait, in the background.

    Processes and threads are started when they are first needed; as many answers as there are workers are judged
    at once, in the order in which they came.
    """

    def __init__(self, task: Task, *, workers: int = 1) -> None:
        self.task = task
        self._num_workers = workers
        self._processes = [Apart(task) for _ in range(workers)] if isinstance(task, Slow) else []
        self._idle: SimpleQueue[Apart] = SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        self._threads: ThreadPoolExecutor | None = None
        """They only wait: for a process, or for what the task waits for."""
        self._begun: set[Future[Verdict]] = set()
        """What they have not done yet."""

    def begin(self, prompt: Prompt, answer: Answer) -> Future[Verdict]:
        """The verdict, as soon as there is one.

        An answer that cannot be judged has a verdict too, which holds the error. What keeps a judge from being
        started at all is raised to who asks for the result.
        """
        if isinstance(self.task, Slow) and (seconds := self.task.seconds(prompt)) is not None:
            return self._in_background(self._judged_apart, prompt, answer, seconds)
        if isinstance(self.task, Waiting) and self.task.waits(prompt):
            return self._in_background(judgement, self.task, prompt, answer)
        verdict: Future[Verdict] = Future()
        verdict.set_result(judgement(self.task, prompt, answer))
        return verdict

    def judge_all(self, asked: Sequence[Asked]) -> list[Verdict]:
        """A verdict for each answer, in their order."""
        return [verdict.result() for verdict in [self.begin(*one) for one in asked]]

    def close(self) -> None:
        """Break off what is being judged, leave out what waits, and end the processes.

        The next question would start them again.
        """
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            while wait(tuple(self._begun), PATIENCE_SECONDS).not_done:
                self._break_off()  # more than once: who is between two questions starts anew
            self._threads.shutdown()  # nobody is at work: they end at once
            self._threads = None
        for process in self._processes:
            process.close()
        if isinstance(self.task, Waiting):
            self.task.close()

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _in_background(self, judged: Callable[..., Verdict], *given: object) -> Future[Verdict]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._num_workers, thread_name_prefix="judge")
        verdict = self._threads.submit(judged, *given)
        self._begun.add(verdict)
        verdict.add_done_callback(self._begun.discard)
        return verdict

    def _break_off(self) -> None:
        for process in self._processes:
            process.kill()
        if isinstance(self.task, Waiting):
            self.task.close()

    def _judged_apart(self, prompt: Prompt, answer: Answer, seconds: float) -> Verdict:
        process = self._idle.get()
        try:
            process.start()  # what keeps it from starting keeps it from judging any answer, and is raised
            return _reply(process, prompt, answer, seconds)
        finally:
            self._idle.put(process)


def _reply(process: Apart, prompt: Prompt, answer: Answer, seconds: float) -> Verdict:
    try:
        return checked(process.ask("judge", prompt, answer, seconds=seconds))
    except (InputError, TimeoutError, ChildProcessError) as error:
        return failure(str(error))
