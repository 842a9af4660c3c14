"""Tests are kept by a digest that means them and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.tasks.code_suite import Suite, Suites, Trial

TRIALS = st.builds(Trial, given=st.text(max_size=9), expected=st.text(max_size=9))
SUITES = st.builds(
    Suite,
    trials=st.lists(TRIALS, min_size=1, max_size=5).map(tuple),
    entry=st.sampled_from(["", "solve"]),
    may_be_wrapped=st.booleans(),
    seconds=st.none() | st.floats(0.1, 60),
    memory_mib=st.none() | st.integers(1, 4096),
)


@given(SUITES, SUITES)
def test_a_suite_comes_back_and_only_equal_ones_share_a_digest(one, other):
    suites = Suites()
    first, second = suites.add(one), suites.add(other)
    assert suites.of(first) == one and suites.of(second) == other and suites.of(first) == one
    assert (first == second) == (one == other)
    assert Suites().add(one) == first


def test_an_unknown_digest_is_a_lookup_error():
    with pytest.raises(LookupError):
        Suites().of("0123456789abcdef")


def test_the_hardest_tests_are_those_with_the_longest_input_in_their_order():
    suite = Suite(trials=tuple(Trial(given="x" * size, expected=str(size)) for size in (3, 9, 1, 9, 5)), entry="f")
    assert [len(one.given) for one in suite.hardest(3).trials] == [9, 9, 5]
    assert suite.hardest(3).entry == "f"
    assert suite.hardest(0) is suite and suite.hardest(5) is suite
