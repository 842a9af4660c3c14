"""Answers taken apart, counted and drawn."""

import re
from html.parser import HTMLParser
from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from scalerl.pipeline.measures import Answered
from scalerl.pipeline.scoring import scored
from scalerl.recipe.reading import load
from scalerl.records import VERDICT_KINDS, Group, Prompt, Rollout, Verdict
from scalerl.report.rollout_choice import Choice
from scalerl.report.rollout_facts import facts
from scalerl.report.rollout_page import rollout_page
from scalerl.report.rollout_reading import Recorded
from scalerl.report.rollout_score import verdict_table
from scalerl.report.rollout_table import summary_table
from scalerl.report.rollout_terminal import show_rollout
from scalerl.report.rollout_text import Tags, pieces, visible

PHRASE = Tags(close="</think>", phrase="Time is up. </think>")
EVIL = "<script>alert(1)</script>&\"'"


def rollout(text: str = "a </think> b", *, passed: bool = True, **changes: object) -> Rollout:
    facts = {
        "tokens": np.arange(5, dtype=np.int32),
        "behavior": np.zeros(5, np.float32),
        "versions": np.array([3, 3, 4, 4, 4], np.int32),
        "is_trainable": np.ones(5, np.bool_),
        "ending": "stopped",
        "is_interrupted": False,
        "text": text,
        "verdict": Verdict(score=float(passed), passed=passed),
        "reward": 2.0 * passed - 1,
    }
    return Rollout(**(facts | changes))


def recorded(one: Rollout, difficulty: str = "2", step: int | None = 6, **changes: str) -> Recorded:
    prompt = Prompt(
        **({"id": "chain:1", "task": "chain", "text": "1 ?", "answer": 3} | changes), difficulty=difficulty
    )
    group = Group(
        prompt=prompt, prompt_tokens=np.ones(1, np.int32), rollouts=(one,), admission=0, admitted_version=3
    )
    return Recorded(step=step, group=group, place=0)


def told(one: Rollout, tags: Tags) -> list[tuple[str, str]]:
    return [(piece.kind, piece.text) for piece in pieces(one, tags)]


def test_thinking_ends_at_the_first_tag():
    assert told(rollout("x </think> y </think>"), PHRASE) == [
        ("thinking", "x "), ("tag", "</think>"), ("answer", " y </think>"),
    ]  # fmt: skip


def test_the_forced_phrase_is_found_whatever_blanks_a_tokenizer_put():
    one = rollout("a b Time  is up . </think> 7", is_interrupted=True)
    assert told(one, PHRASE) == [("thinking", "a b "), ("forced", "Time  is up . </think>"), ("answer", " 7")]


def test_what_never_closed_is_all_thinking_and_without_tags_all_is_answer():
    assert told(rollout("x y"), PHRASE) == [("thinking", "x y")]
    assert told(rollout("x y"), Tags(close="", phrase="")) == [("answer", "x y")]


def test_a_phrase_of_our_own_is_not_forced_where_nothing_was():
    assert [kind for kind, _ in told(rollout("Time is up. </think> 7"), PHRASE)] == ["thinking", "tag", "answer"]


@given(st.text(), st.booleans())
def test_the_pieces_are_the_whole_text(text, is_interrupted):
    assert "".join(piece.text for piece in pieces(rollout(text, is_interrupted=is_interrupted), PHRASE)) == text


def test_tags_come_from_the_recipe():
    assert Tags.of(load("demo")) == Tags(close="</think>", phrase="</think>")
    assert Tags.of(load("scalerl")).phrase.endswith("final answer now. </think>")


def test_lag_is_counted_from_the_version_before_the_step():
    # Step 6 updates version 5; tokens of versions 3 and 4 have lag 2 and 1.
    assert recorded(rollout()).lag.tolist() == [2, 2, 1, 1, 1]
    assert "policy version 3\N{EN DASH}4 · lag 1\N{EN DASH}2" in facts(recorded(rollout()))
    assert "lag" not in facts(recorded(rollout(), step=None))


def test_forced_tokens_are_counted():
    one = rollout(is_trainable=np.array([True, True, False, False, True]))
    assert "5 tokens, 2 of them forced" in facts(recorded(one))


def test_a_right_answer_without_its_end_says_why_it_failed():
    assert facts(recorded(CUT)).startswith("wrong · truncated (right as far as it goes) · reward 1 ")


def kind(name: str, **changes: object) -> Rollout:
    passed = name == "passed"
    error = "the worker is gone" if name == "judge error" else ""
    return rollout(verdict=Verdict(score=float(passed), passed=passed, error=error, kind=name), **changes)


def test_kinds_of_verdicts_are_told():
    told = [facts(recorded(kind(name))).partition(" · ")[0] for name in VERDICT_KINDS]
    assert told == ["right", *VERDICT_KINDS[1:-1], "judge failed"]
    # It passed its tests, but never came to its end.
    assert facts(recorded(kind("passed", ending="truncated"))).startswith("wrong · truncated (right as far as it")
    page = page_of(*(recorded(kind(name)) for name in ("passed", "time", "runtime error")))
    assert [one["data-verdict"] for one in Tree(page).of("article")] == ["right", "time", "runtime error"]
    assert {"=time", "=runtime error", "=right"} <= {one.get("value") for one in Tree(page).of("option")}


def test_the_reason_of_a_verdict_is_shown():
    one = recorded(rollout(verdict=Verdict(score=0.0, passed=False, kind="wrong", reason=f"printed {EVIL}")))
    out = Console(file=StringIO(), width=100)
    show_rollout(out, one, PHRASE)
    assert "  reason    printed " in out.file.getvalue()
    page = page_of(one, recorded(kind("time")))
    assert page.count("<dt>reason</dt>") == 1 and EVIL not in page


def test_kinds_of_verdicts_have_columns_in_a_fixed_order():
    every = [recorded(kind(name)) for name in ("time", "passed", "judge error", "time", "wrong", "odd one")]
    table = summary_table([*every, recorded(WRONG, task="other", id="other:2")])
    titles = [column.title for column in table.columns]
    assert titles[titles.index("Pass rate") + 1 : titles.index("Interrupted")] == [
        "Wrong", "Time", "Judge error", "Odd one",
    ]  # fmt: skip
    times = {row[0]: row[titles.index("Time")] for row in table.texts}
    assert times == {"chain": "2", "other": "\N{EN DASH}", "all": "2"}  # a task without kinds has no count of them
    assert not {"Wrong", "Time"} & {column.title for column in summary_table([recorded(WRONG)]).columns}


def test_an_evaluation_has_a_table_of_verdicts_where_there_are_kinds():
    groups = [recorded(kind(name)).group for name in ("passed", "time", "time", "wrong")]
    answered = [Answered(votes=("a",), passed=(one.rollouts[0].passed,)) for one in groups]
    code = scored("code", groups, answered, (), ())
    (row,) = verdict_table([code]).texts
    assert [column.title for column in verdict_table([code]).columns] == ["Passed", "Wrong", "Time"]
    assert row == ("1", "1", "2")
    chain = scored("chain", [recorded(rollout()).group], answered[:1], (), ())
    assert not verdict_table([chain]).rows and verdict_table([chain, code]).texts == (("code", "1", "1", "2"),)


def test_what_steers_a_terminal_is_written_out():
    assert visible("a\x1b]0;x\x07\nb\ud800") == "a\\x1b]0;x\\x07\nb\\ud800"


WRONG = rollout(passed=False, is_interrupted=True, tokens=np.arange(9, dtype=np.int32))
CUT = rollout(ending="truncated")  # a judge passed it, but it never came to its end
ERROR = rollout(verdict=Verdict(score=0.0, passed=False, error="timed out"))


def test_a_row_for_each_difficulty_in_the_order_of_numbers():
    table = summary_table(
        [recorded(rollout(), "10"), recorded(WRONG, "10"), recorded(CUT, "9"), recorded(ERROR, "10")]
    )
    assert [row[1:] for row in table.texts] == [
        ("1", "0.000", "0.000", "1.000", "5.0"), ("3", "0.500", "0.333", "0.000", "6.3"),
        ("4", "0.333", "0.250", "0.250", "6.0"),
    ]  # fmt: skip
    assert [row[0] for row in table.texts] == ["9", "10", "all"]


@pytest.mark.parametrize(
    ("choice", "admitted"),
    [
        (Choice(), "rwce"),
        (Choice(is_right=True), "r"),
        (Choice(is_wrong=True), "wce"),
        (Choice(is_right=True, is_wrong=True), "rwce"),
        (Choice(is_interrupted=True), "w"),
        (Choice(is_truncated=True), "c"),
        (Choice(is_wrong=True, is_truncated=True), "c"),
        (Choice(difficulty="3"), "w"),
        (Choice(prompt="n:1"), "rwce"),
        (Choice(prompt="n:2"), ""),
        (Choice(task="maths"), ""),
    ],
)
def test_choices(choice, admitted):
    every = {"r": recorded(rollout()), "w": recorded(WRONG, "3"), "c": recorded(CUT), "e": recorded(ERROR)}
    assert "".join(name for name, one in every.items() if choice.admits(one)) == admitted


class Tree(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.seen if name == tag]


def page_of(*every: Recorded) -> str:
    return rollout_page(f"run {EVIL}", every, summary_table(every), PHRASE, note=EVIL)


def test_nothing_that_was_sampled_becomes_markup():
    one = rollout(f"{EVIL} Time is up. </think> {EVIL}", is_interrupted=True)
    prompt = {"id": f"chain:{EVIL}", "task": EVIL, "text": EVIL, "answer": EVIL}
    page = page_of(recorded(one, EVIL, **prompt), recorded(rollout(), "2"))
    tree = Tree(page)
    assert len(tree.of("script")) == 1 and "alert(1)" not in re.search(r"<script>.*?</script>", page, re.DOTALL)[0]
    assert tree.of("article")[0]["data-difficulty"] == EVIL
    assert tree.of("option")[-1] and {one.get("value") for one in tree.of("option")} >= {f"={EVIL}", ""}


def test_the_page_needs_no_network_and_marks_what_was_forced():
    page = page_of(recorded(rollout("a Time is up. </think> b", is_interrupted=True)), recorded(WRONG, "3"))
    assert not re.search(r"(src|href|url|@import)\s*[=(]", page.split("</style>")[1]) and "http" not in page
    assert page.count('<mark class="forced"') == 1
    assert "prefers-color-scheme: dark" in page
    assert [one["data-verdict"] for one in Tree(page).of("article")] == ["right", "wrong"]


def test_a_filter_with_one_value_is_left_out():
    names = [one["name"] for one in Tree(page_of(recorded(rollout()), recorded(WRONG))).of("select")]
    assert names == ["verdict", "interrupted", "truncated"]
