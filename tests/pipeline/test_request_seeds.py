"""Seeds are the same for ever, and never the same for two requests."""

from itertools import product

from scalerl.pipeline.seeds import seed_of


def test_seeds_never_change():
    assert seed_of() == 8238016292129134938
    assert seed_of(0, "rollout", "chain/17", 5, 3) == 7181664807413683852


def test_a_seed_has_63_bits_and_uses_them():
    seeds = [seed_of("any", number) for number in range(2000)]
    assert all(0 <= seed < 2**63 for seed in seeds)
    shares = [sum(seed >> bit & 1 for seed in seeds) / len(seeds) for bit in range(63)]
    assert min(shares) > 0.44 and max(shares) < 0.56  # five standard deviations


def test_parts_cannot_run_into_each_other():
    meant = [("ab", "c"), ("a", "bc"), ("abc",), ("", "abc"), ("abc", ""), ("s2:ab", "c"), ("as2:bc",), ("é",)]
    meant += [(1,), ("1",), (1, 1), (11,), (-1,), ("i1:1",)]
    assert len({seed_of(*parts) for parts in meant}) == len(meant)


def test_no_two_requests_of_a_run_collide():
    grid = product(range(3), ["chain/1", "chain/11", "gym/1"], range(500), range(16))
    seeds = [seed_of(run, "rollout", prompt, admission, sample) for run, prompt, admission, sample in grid]
    assert len(set(seeds)) == len(seeds) == 72_000
