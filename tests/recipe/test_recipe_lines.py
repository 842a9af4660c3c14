"""On which line a key stands."""

import pytest

from scalerl.recipe.lines import line_of

TEXT = """\
# seed = 3
steps = 1
model.path = "x"
loss = { kind = "dapo", clip_low = 1 }

[ batch ]   # a comment
  prompts = 3

[task]
kind = "mixture"
[[task.parts]]
name = "a"
[task.parts.task]
steps = [1,
  2]
[[task.parts]]
name = "b"
task.kind = "gym"
[task.parts.task.options]
"a.b" = 1
'c' = 2
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("steps",), 2),
        (("model", "path"), 3),
        (("loss", "clip_low"), 4),
        (("batch",), 6),
        (("batch", "prompts"), 7),
        (("batch", "samples"), 6),
        (("task", "kind"), 10),
        (("task", "parts"), 11),
        (("task", "parts", 0), 11),
        (("task", "parts", 0, "name"), 12),
        (("task", "parts", 0, "task", "steps"), 14),
        (("task", "parts", 0, "task", "steps", 1), 14),
        (("task", "parts", 1), 16),
        (("task", "parts", 1, "name"), 17),
        (("task", "parts", 1, "task", "kind"), 18),
        (("task", "parts", 1, "task", "options", "a.b"), 20),
        (("task", "parts", 1, "task", "options", "c"), 21),
        (("seed",), None),
        ((), None),
    ],
)
def test_the_line_of_a_key_or_of_what_is_around_it(key, line):
    assert line_of(TEXT, key) == line
