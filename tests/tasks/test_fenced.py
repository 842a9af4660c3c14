"""The program of an answer is its last fenced block, as people and models write them."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.tasks.fenced import last_block

ANSWERS = [
    ("```python\nprint(1)\n```", "print(1)\n"),
    ("```\nprint(1)\n```", "print(1)\n"),
    ("~~~py\nprint(1)\n~~~", "print(1)\n"),
    ("Here:\n\n```python\nx = 1\nprint(x)\n```\nThat is all.", "x = 1\nprint(x)\n"),
    ("```python\nprint(1)\n```\nBetter:\n```python\nprint(2)\n```", "print(2)\n"),
    ("```python\nprint(1)\n```\nOutput:\n```text\n1\n```", "1\n"),  # whatever its label: the last is meant
    ("print(1)", None),
    ("", None),
    ("```python\nprint(1)", None),  # never closed
    ("```python\nprint(1)\n```\n```", "print(1)\n"),  # a fence too many opens nothing
    ("```python\n```", ""),
    ("````\n```\nprint(1)\n```\n````", "```\nprint(1)\n```\n"),  # a longer fence holds a shorter one
    ("~~~\n```\nprint(1)\n~~~", "```\nprint(1)\n"),
    ("```\n~~~\nprint(1)\n```", "~~~\nprint(1)\n"),
    ("1. First:\n   ```python\n   if x:\n       print(1)\n   ```", "if x:\n    print(1)\n"),  # in a list
    ("```python\r\nprint(1)\r\nprint(2)\r\n```\r\n", "print(1)\nprint(2)\n"),
    ("Use `x` or ```y``` inline.", None),
    ("```python print(1)```", None),  # backticks in a label make it text
    ("```python\ns = '''\n        ```\n'''\n```", "s = '''\n        ```\n'''\n"),  # far deeper than its fence
    ('```python title="a.py" {1,2}\nprint(1)\n``````  ', "print(1)\n"),  # closed by more, blanks after it
    ("``\nprint(1)\n``", None),
    ("```\n\tif x:\n\t\ty\n```", "\tif x:\n\t\ty\n"),
    ("```\nprint('\u2028\x0c')\n```", "print('\u2028\x0c')\n"),  # only line feeds end lines
]


@pytest.mark.parametrize(("answer", "program"), ANSWERS)
def test_answers_as_models_write_them(answer, program):
    assert last_block(answer) == program


LINES = st.text(st.characters(blacklist_characters="\n\r"), max_size=20)


@given(st.lists(LINES, max_size=8), st.lists(LINES.filter(lambda line: "`" not in line and "~" not in line)), LINES)
def test_a_block_comes_back_whatever_stands_before_and_after(before, block, after):
    fence = "`" * (3 + max((line.count("`") for line in (*before, after)), default=0))
    words = [line.replace("~", "-") for line in before]
    text = "\n".join([*words, f"{fence}python", *block, fence, after.replace("`", "").replace("~", "")])
    assert last_block(text) == "".join(f"{line}\n" for line in block)


@given(st.text(st.sampled_from("`~ \n\tpx"), max_size=200))
def test_any_text_has_a_block_or_none(text):
    found = last_block(text)
    assert found is None or all(line.strip() in text for line in found.split("\n"))


def test_a_text_of_nothing_but_fences_takes_no_time_to_speak_of():
    text = "````x\n" * 50_000 + "```\n" * 50_001  # each of the first looked for its end through all the rest
    assert last_block(text) == ""


def steps(text):
    """Lines of Python that reading a text takes."""
    count = 0

    def counted(frame, event, _):
        nonlocal count
        count += event == "line"
        return counted

    before = sys.gettrace()
    sys.settrace(lambda frame, event, _: counted if frame.f_code.co_filename.endswith("fenced.py") else None)
    try:
        last_block(text)
    finally:
        sys.settrace(before)
    return count


def never_closed(num_letters):
    """Every combination of indentation and length, hardest to close first, and fences that close none."""
    size = round((num_letters / 2) ** (1 / 3))
    openings = [" " * indent + "`" * (4 + size - less) for less in range(size) for indent in range(size)]
    return "\n".join([*(f"{one}x" for one in openings), *["```"] * (num_letters // 8)])


def every_kind(num_letters):
    """As many lengths and indentations of fences as there is room for, and all of them may open and close."""
    size = round(num_letters ** (1 / 3))
    return "\n".join(" " * (size - at) + "~" * (3 + size - more) for at in range(size) for more in range(size))


def lengths_and_depths(num_letters):
    """The largest table: closing fences of all lengths at one depth, and at all depths of one length."""
    size = round((num_letters / 2) ** 0.5)
    return "\n".join(["`" * (3 + at) for at in range(size)] + [" " * at + "```" for at in range(size)])


@pytest.mark.parametrize("make", [never_closed, every_kind, lengths_and_depths])
def test_no_text_takes_more_than_a_few_steps_a_letter(make):
    text = make(200_000)
    assert 100_000 < len(text) < 300_000
    assert steps(text) < 10 * len(text)
    assert steps(text) < 2.5 * steps(make(100_000))
