"""A task of your own in twenty lines: numbers backwards. In a recipe: path = "task_of_your_own.py:Backwards"."""

from scalerl.records import Prompt, Verdict
from scalerl.tasks.task import Answer


class Backwards:
    name = "backwards"

    def __init__(self, num_prompts: int = 1000) -> None:
        self.num_prompts = num_prompts

    def prompts(self) -> list[Prompt]:
        return [self.prompt(index) for index in range(self.num_prompts)]

    def held_out(self, count: int) -> list[Prompt]:
        return [self.prompt(self.num_prompts + index) for index in range(count)]

    def judge(self, prompt: Prompt, answer: Answer) -> Verdict:
        passed = answer.final == prompt.answer
        return Verdict(score=float(passed), passed=passed)

    def prompt(self, index: int) -> Prompt:
        number = str(10_000 + 7_919 * index % 90_000)  # 7,919 is prime: 90,000 different numbers, well mixed
        text = f"Write {number} backwards."
        return Prompt(id=f"backwards:{number}", task=self.name, text=text, answer=number[::-1])
