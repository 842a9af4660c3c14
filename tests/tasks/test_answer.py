"""What of an answer is judged."""

import time

import pytest

from scalerl.tasks.task import Answer


@pytest.mark.parametrize(
    ("text", "final"),
    [
        (" 42 \n", "42"),
        ("<answer>42</answer>", "42"),
        ("<answer>1</answer> no, <answer>\n2 </answer>.", "2"),
        ("<answer>1</answer> and <answer>2", "1"),
        ("<answer>42", "<answer>42"),
        ("42</answer>", "42</answer>"),
        ("<answer></answer>", ""),
        ("", ""),
    ],
)
def test_the_last_tags_count_or_else_all_of_it(text, final):
    assert Answer(text=text).final == final


def test_tags_without_end_cost_no_time():
    began = time.process_time()
    assert len(Answer(text="<answer>" * 200_000).final) == 1_600_000
    assert time.process_time() - began < 1
