"""Plans: cycles worked out by hand, what never depends on numbers, and a run held against its own prediction."""

import json
import math
from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalerl.errors import InputError
from scalerl.pipeline.plan import limit_in_words, predict, propose, reliefs
from scalerl.pipeline.plan_measured import measured_steps
from scalerl.pipeline.plan_reading import plan_of, read_plan, read_plans
from scalerl.pipeline.plan_simulation import Simulation
from scalerl.pipeline.plan_terms import Layout, Lengths, Rates, Workload
from scalerl.recipe.reading import load
from scalerl.recipe.writing import to_toml

# 8 answers of 100 tokens; a generator with its 4 slots full gives each sequence 10 tokens/s: a batch takes two of
# them 10 s. Training takes 800 / 100 = 8 s, publishing 1 s.
RATES = Rates(generation=((4, 40),), training=((1, 100),), update_seconds=1)
WORK = Workload(prompts=4, samples=2, lengths=Lengths(kind="constant", mean=100))
TWO = Layout(generators=2, trainers=1, slots=4, k=0)


def seconds(layout=TWO, rates=RATES, work=WORK, **how):
    return predict(layout, rates, work, **{"steps": 12, **how}).seconds


def test_without_lag_generation_and_training_take_turns():
    found = predict(TWO, RATES, WORK, steps=12)
    assert found.seconds == pytest.approx(10 + 8 + 1)
    assert (found.lag_mean, found.lag_max) == (0, 0)
    assert found.trainers.busy == pytest.approx(8 / 19) and found.trainers.idle == pytest.approx(10 / 19)
    assert found.generators.busy == pytest.approx(10 / 19) and found.generators.idle == pytest.approx(8 / 19)
    assert found.generators.updating == found.trainers.updating == pytest.approx(1 / 19)
    assert found.fill == found.use == pytest.approx(10 / 19)
    assert found.tokens_per_second == pytest.approx(800 / 19)
    assert found.gpu_hours == pytest.approx(3 * 19 / 3600)


def test_with_lag_the_slower_half_sets_the_pace():
    assert seconds(replace(TWO, k=8)) == pytest.approx(10 + 1)  # generation, which pauses for new weights
    slow = replace(RATES, training=((1, 50),))
    assert seconds(replace(TWO, k=8), slow) == pytest.approx(16 + 1)  # training


def test_phased_pays_generation_once_a_phase_of_updates():
    # Four batches in the slots of one: 40 s of writing, then 4 x (8 + 1) s.
    found = predict(replace(TWO, kind="phased", k=4), RATES, WORK, steps=10)
    assert found.num_steps == 12 and found.seconds == pytest.approx((40 + 36) / 4)
    assert found.lag_max == 3 and found.lag_mean == pytest.approx(1.5)
    assert seconds(replace(TWO, kind="phased", k=1)) == pytest.approx(seconds(TWO))


def test_one_device_takes_turns_whatever_k_is():
    # One generator: 20 s for the batch.
    for k in (0, 1, 8):
        found = predict(Layout(generators=1, trainers=1, slots=4, k=k, place="local"), RATES, WORK, steps=12)
        assert found.seconds == pytest.approx(20 + 8 + 1)
        assert found.generators.busy + found.trainers.busy + found.trainers.updating == pytest.approx(1)
        assert found.gpu_hours == pytest.approx(29 / 3600)


def test_judging_and_overhead_are_waited_for_without_lag():
    assert seconds(rates=replace(RATES, judge_seconds=3, overhead_seconds=2)) == pytest.approx(19 + 3 + 2)
    # With lag, the verdicts come while the next batch is written, and overhead falls into generation's 10 s.
    ahead = seconds(replace(TWO, k=8), replace(RATES, judge_seconds=3, overhead_seconds=2))
    assert ahead == pytest.approx(11)


def test_answers_without_a_slot_wait():
    assert seconds(replace(TWO, slots=2), replace(RATES, generation=((2, 20),))) == pytest.approx(20 + 8 + 1)


def test_sequences_share_a_generator():
    # Level at 20 tokens/s from two sequences on: 400 tokens of each generator take 20 s.
    assert seconds(rates=replace(RATES, generation=((2, 20),))) == pytest.approx(20 + 8 + 1)


def test_a_group_ends_with_its_longest_answer():
    work = Workload(prompts=1, samples=2, lengths=Lengths(kind="recorded", groups=((10, 100), (10, 100))))
    rates = Rates(generation=((2, 20),), training=((1, 1e9),))
    found = predict(Layout(generators=1, trainers=1, slots=2, k=0), rates, work, steps=5)
    assert found.seconds == pytest.approx(10, rel=1e-6)  # 10 tokens/s, also for the one that is left alone
    assert found.fill == pytest.approx((2 * 1 + 1 * 9) / 20, rel=1e-6)


def test_a_driver_that_waits_for_the_trainers_starts_nothing_meanwhile():
    # Groups land after 10 s, but nothing follows them until the step of 30 s is over.
    slow = replace(RATES, training=((1, 800 / 30),))
    one = replace(TWO, k=1, admits_while_training=False)
    assert seconds(replace(one, admits_while_training=True), slow) == pytest.approx(31)
    assert predict(one, slow, WORK, steps=12).seconds >= 31


def test_training_scales_with_trainers_as_measured():
    rates = replace(RATES, training=((1, 100), (2, 160)))
    assert seconds(replace(TWO, trainers=2), rates) == pytest.approx(10 + 5 + 1)
    assert seconds(replace(TWO, trainers=4), rates) == pytest.approx(10 + 2.5 + 1)


def test_only_some_tokens_are_trained_on():
    assert seconds(rates=replace(RATES, trained_ratio=0.5)) == pytest.approx(10 + 4 + 1)


LENGTHS = st.sampled_from(
    [
        Lengths(kind="constant", mean=50),
        Lengths(kind="geometric", mean=50, most=200),
        Lengths(kind="lognormal", mean=50, spread=0.8, most=300),
        Lengths(kind="recorded", groups=((5, 90, 33), (12, 40, 41))),
    ]
)
SCHEMES = st.sampled_from([("pipeline", 0), ("pipeline", 1), ("pipeline", 3), ("phased", 1), ("phased", 3)])
SPEEDS = st.floats(min_value=1, max_value=1e4)


@st.composite
def cases(draw, lengths=LENGTHS):
    kind, k = draw(SCHEMES)
    place = draw(st.sampled_from(["cluster", "local"]))
    layout = Layout(
        generators=draw(st.integers(1, 5)) if place == "cluster" else 1,
        trainers=draw(st.integers(1, 3)) if place == "cluster" else 1,
        slots=draw(st.integers(1, 12)),
        k=k,
        kind=kind,
        place=place,
        admits_while_training=draw(st.booleans()),
    )
    rates = Rates(
        generation=((1, draw(SPEEDS)), (8, draw(SPEEDS))),
        training=((1, draw(SPEEDS)),),
        update_seconds=draw(st.floats(0, 5)),
        overhead_seconds=draw(st.floats(0, 5)),
        judge_seconds=draw(st.floats(0, 5)) if place == "cluster" else 0,
    )
    work = Workload(prompts=draw(st.integers(1, 5)), samples=draw(st.integers(1, 4)), lengths=draw(lengths))
    return layout, rates, work


@given(cases(), st.integers(0, 3))
@settings(deadline=None)
def test_every_group_is_used_once_and_in_time(case, seed):
    layout, rates, work = case
    simulation = Simulation(layout, rates, work, seed)
    made = [step for step, _ in islice(simulation.steps(), 8)]
    used = Counter(ticket for step in made for ticket in step.tickets)
    assert set(used.values()) == {1} and all(len(step.tickets) == work.prompts for step in made)
    staleness = simulation.staleness
    left = {one.number for one in (*staleness.in_flight, *staleness.finished)}
    assert not left & set(used) and left | set(used) == set(range(len(left) + len(used)))
    for step in made:
        assert -1e-9 <= step.lag_mean <= step.lag_max + 1e-9 and 0 <= step.lag_max <= staleness.bound
    times = [step.at for step in made]
    assert times == sorted(times)


@given(cases())
@settings(deadline=None)
def test_shares_are_shares(case):
    layout, rates, work = case
    found = predict(layout, rates, work, steps=6)
    for shares in (found.trainers, found.generators):
        parts = (shares.busy, shares.updating, shares.idle)
        assert all(-1e-9 <= part <= 1 + 1e-9 for part in parts) and sum(parts) == pytest.approx(1)
    assert 0 < found.fill <= 1 + 1e-9 and 0 < found.use <= 1 + 1e-9
    assert found.fill <= found.generators.busy + 1e-9
    least = rates.overhead_seconds + rates.update_seconds
    least += found.tokens * rates.trained_ratio / rates.trained_per_second(layout.trainers)
    assert found.seconds >= least * (1 - 1e-9)


@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 4), st.integers(1, 8), SPEEDS, SPEEDS)
@settings(deadline=None)
def test_many_generators_are_never_slower_than_one_at_answers_of_one_length(
    prompts, samples, k, slots, written, trained
):
    """One more can cost a little where answers run ahead, as groups fall into other batches; else it never does."""
    work = Workload(prompts=prompts, samples=samples, lengths=Lengths(kind="constant", mean=64))
    rates = Rates(generation=((slots, written),), training=((1, trained),), update_seconds=0.5)
    times = [
        predict(Layout(generators=n, trainers=1, slots=slots, k=k), rates, work, steps=40).seconds
        for n in range(1, 6)
    ]
    assert max(times) <= times[0] * (1 + 1e-6)
    assert k > 0 or all(more <= fewer * (1 + 1e-6) for fewer, more in pairwise(times))


def test_twice_as_fast_in_everything_takes_half_the_time():
    work = replace(WORK, lengths=Lengths(kind="geometric", mean=80))
    half = Rates(generation=((4, 80),), training=((1, 200),), update_seconds=0.5)
    one = predict(replace(TWO, k=3), RATES, work)
    other = predict(replace(TWO, k=3), half, work)
    assert other.seconds == pytest.approx(one.seconds / 2) and other.lag_mean == pytest.approx(one.lag_mean)


@pytest.mark.parametrize(
    ("layout", "rates", "limit"),
    [
        (replace(TWO, k=8), replace(RATES, training=((1, 20),)), "training"),
        (replace(TWO, k=8), replace(RATES, training=((1, 1000),)), "generation"),
        (TWO, RATES, "staleness"),
        (replace(TWO, k=8), replace(RATES, training=((1, 1000),), update_seconds=30), "update"),
    ],
)
def test_what_limits_is_named(layout, rates, limit):
    found = reliefs(layout, rates, WORK, steps=12)
    assert found[0].name == limit and limit_in_words(found).startswith(f"{limit} limits it: ")


def test_a_long_answer_limits_a_synchronous_loop():
    work = Workload(prompts=4, samples=4, lengths=Lengths(kind="recorded", groups=((10,) * 19 + (1000,),)))
    layout = Layout(generators=2, trainers=1, slots=8, k=0)
    found = reliefs(layout, replace(RATES, generation=((8, 80),), training=((1, 1e4),)), work, steps=40)
    assert found[0].name == "length of answers"


def test_the_best_split_is_that_of_trying_all():
    rates = replace(RATES, judge_seconds=0.3)
    work = replace(WORK, lengths=Lengths(kind="lognormal", mean=100, spread=0.7))
    template = replace(TWO, k=4)
    every = [predict(replace(template, generators=9 - n, trainers=n), rates, work, steps=60) for n in range(1, 9)]
    best = max(every, key=lambda one: one.tokens_per_second)
    first, second, *_ = propose(9, template, rates, work)
    assert (first.layout.generators, first.layout.trainers) == (best.layout.generators, best.layout.trainers)
    assert first.layout.k <= 4 and first.tokens_per_second >= 0.99 * best.tokens_per_second
    assert second.tokens_per_second <= best.tokens_per_second
    assert propose(9, template, rates, work, least_trainers=8)[0].layout.trainers == 8
    with pytest.raises(InputError, match="too few"):
        propose(1, template, rates, work)


def test_k_is_no_larger_than_it_has_to_be():
    # Generation of 10 s hides behind training of 16 s with one batch ahead.
    [found] = propose(
        3, replace(TWO, k=8), replace(RATES, training=((1, 50),)), WORK, least_trainers=1, num_shown=1
    )
    assert (found.layout.generators, found.layout.trainers, found.layout.k) == (2, 1, 1)


STATED = {
    "batch": {"prompts": 4, "samples": 2},
    "off_policy": {"k": 3},
    "layout": {"generators": 2, "trainers": 1, "slots": 4},
    "lengths": {"kind": "constant", "mean": 100},
    "rates": {"generation": [[4, 40]], "training": 100, "update_seconds": 1},
}


def test_a_file_of_rates_is_read():
    plan = plan_of(STATED)
    assert (plan.layout, plan.rates, plan.workload) == (replace(TWO, k=3), RATES, WORK)
    listed = plan_of({**STATED, "lengths": {"values": [10, 30], "most": 20}}).workload.lengths
    assert listed.typical() == 15 and math.isinf(plan.workload.lengths.most)


@pytest.mark.parametrize(
    ("section", "change", "told"),
    [
        ("rates", {"speed": 3}, "rates.speed is no key"),
        ("rates", {"generation": [[8, 40], [4, 20]]}, "expected rising ones"),
        ("rates", {"training": "fast"}, "expected pairs"),
        ("rates", {"update_seconds": -1}, "rates.update_seconds is -1"),
        ("off_policy", {"kind": "sync"}, "expected one of pipeline, phased"),
        ("off_policy", {"kind": "phased", "k": 0}, "phased makes k updates a phase: expected at least 1"),
        ("layout", {"slots": 2.5}, "expected a whole number"),
        ("layout", {"generators": 0}, "layout.generators is 0"),
        ("layout", {"place": "local"}, "one device"),
        ("lengths", {"mean": 0}, "lengths.mean is 0"),
        ("lengths", {"values": ["a"]}, "expected a list of tokens"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(section, change, told):
    with pytest.raises(InputError, match=told):
        plan_of({**STATED, section: {**STATED[section], **change}})


def test_a_missing_section_is_told():
    for section, told in (("lengths", "lengths is missing"), ("batch", "batch.prompts is missing")):
        with pytest.raises(InputError, match=told):
            plan_of({name: content for name, content in STATED.items() if name != section})


def made_run(folder, *, slots, generation, training, steps=20, runtime=(), **more):
    """A run directory whose every step took the same."""
    overrides = [f"engine.slots={slots}", "batch.prompts=4", "batch.samples=2", "off_policy.k=2", *runtime]
    folder.mkdir()
    (folder / "recipe.toml").write_text(to_toml(load("demo", overrides)))
    row = {
        "batch/rollouts": 8, "length/mean": 100.0, "length/max": 100.0, "lag/mean": 0.5, "lag/max": 1.0,
        "seconds/generation": generation, "seconds/training": training, "seconds/idle": 0.5,
        "tokens/generated": 800, "tokens/trained": 1200, **more,
    }  # fmt: skip
    first = {**row, "seconds/training": 100 * training}
    rows = [{"step": 0, "eval/chain/pass_rate": 0.3}, *({"step": at + 1, **row} for at in range(steps))]
    rows[1] = {"step": 1, **first}
    (folder / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return folder


def test_time_that_verdicts_were_waited_for_counts_as_overhead(tmp_path):
    place = made_run(tmp_path / "run", slots=8, generation=6.0, training=3.0)
    rows = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    for row in rows[-9:]:  # half of those that count; the others are of before there was such a metric
        row |= {"seconds/judging": 2.0}
    (place / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    steps, plan = measured_steps(place), read_plan(place)
    assert (steps.generation_seconds, steps.overhead_seconds, steps.seconds) == (6.0, 0.5 + 1.0, 10.5)
    assert plan.rates.overhead_seconds == 1.5
    found = predict(plan.layout, plan.rates, plan.workload, steps=400)
    assert found.seconds * found.generators.busy == pytest.approx(6.0, rel=0.05)
    assert found.seconds * found.overhead == pytest.approx(1.5)


def test_waiting_for_verdicts_is_blamed_on_neither_half():
    alone = Layout(generators=1, trainers=1, slots=4, k=0, place="local")  # 20 s of writing, 8 of training
    found = reliefs(alone, replace(RATES, update_seconds=0, overhead_seconds=72), WORK, steps=12)
    saved = {one.name: one.saved for one in found}
    assert saved["overhead"] == pytest.approx(0.36) and found[0].name == "overhead"
    assert saved["generation"] == pytest.approx(0.1) and saved["training"] == pytest.approx(0.04)
    assert "waits for verdicts saves 36%" in limit_in_words(found)


def test_no_change_saves_less_than_nothing():
    # In these 12 steps other answers fall into a batch once steps are faster: 3% lost by chance.
    work = replace(WORK, lengths=Lengths(kind="geometric", mean=80))
    found = reliefs(replace(TWO, k=2), replace(RATES, training=((1, 1000),)), work, steps=12)
    assert [one.saved for one in found] == sorted((one.saved for one in found), reverse=True)
    assert (found[-1].name, found[-1].saved) == ("training", 0)


def test_a_run_is_predicted_from_its_own_rates(tmp_path):
    plan = read_plan(made_run(tmp_path / "run", slots=8, generation=6.0, training=3.0))
    assert plan.rates.training == ((1.0, 400.0),) and plan.rates.trained_ratio == 1.5
    assert plan.layout.place == "local" and "geometric" in plan.notes[0]
    found = predict(plan.layout, plan.rates, plan.workload, steps=400)
    assert found.seconds * found.generators.busy == pytest.approx(6.0, rel=0.05)
    assert found.seconds == pytest.approx(6 + 3 + 0.5, rel=0.05)


def test_a_run_on_a_cluster_has_rates_of_every_part(tmp_path):
    """Three devices and 12 seconds charged are 4 by the clock: a generator is busy for 3, the trainer for 1."""
    said = {"cluster/generators_idle_share": 0.25, "cluster/update_publish_seconds": 0.5}
    on_two = ("runtime.kind=cluster", "runtime.generators=2")
    plan = read_plan(made_run(tmp_path / "run", slots=8, generation=8.5, training=3.0, runtime=on_two, **said))
    assert (plan.layout.place, plan.layout.generators, plan.layout.trainers) == ("cluster", 2, 1)
    assert plan.rates.training == ((1.0, 1200.0),) and plan.rates.trained_ratio == 1.5
    assert plan.rates.update_seconds == 0.5
    found = predict(plan.layout, plan.rates, plan.workload)
    assert found.seconds * found.generators.busy == pytest.approx(3, rel=0.1)


def test_gpus_of_a_generator_are_paid_for():
    layout = Layout(generators=6, tensor_parallel=2, trainers=4, slots=8, k=2)
    assert layout.gpus == 16
    rates = Rates(generation=((8, 1000),), training=((1, 4000),))
    workload = Workload(prompts=8, samples=2, lengths=Lengths(kind="constant", mean=50))
    found = propose(16, layout, rates, workload)
    assert all(one.layout.gpus <= 16 and one.layout.generators * 2 + one.layout.trainers == 16 for one in found)
    with pytest.raises(InputError, match="expected 3 at least: one generator of 2"):
        propose(2, layout, rates, workload)


def test_only_whole_phases_are_measured(tmp_path):
    run = made_run(tmp_path / "run", slots=8, generation=6.0, training=3.0, steps=10)
    (run / "recipe.toml").write_text(
        to_toml(load(run / "recipe.toml", ["off_policy.kind=phased", "off_policy.k=4"]))
    )
    assert measured_steps(run).num_steps == 4  # 5 to 8: the first phase is left out, the third is not whole


def test_runs_with_other_slots_add_points(tmp_path):
    few = made_run(tmp_path / "few", slots=4, generation=8.0, training=3.0)
    many = made_run(tmp_path / "many", slots=8, generation=6.0, training=3.0)
    plan = read_plans([many, few])
    assert [count for count, _ in plan.rates.generation] == [4, 8] and plan.layout.slots == 8
    same = made_run(tmp_path / "same", slots=8, generation=5.0, training=3.0)
    with pytest.raises(InputError, match=r"same: engine\.slots is 8 as in a run before it; expected another"):
        read_plans([many, few, same])


def test_a_real_run_spends_its_time_as_predicted(tmp_path):
    """Counts are exact, so lags are; seconds of a busy machine are its own, and only their shares are compared."""
    from scalerl.cli import run

    sets = ("steps=10", "batch.prompts=8", "evaluation.prompts=8", "evaluation.every=10", "log.rollouts_every=1")
    place = tmp_path / "run"
    assert run(["train", "demo", "--plain", "--run", str(place), *(w for one in sets for w in ("--set", one))]) == 0
    plan, steps = read_plan(place), measured_steps(place)
    found = predict(plan.layout, plan.rates, plan.workload)
    assert found.seconds == pytest.approx(steps.seconds, rel=0.15)
    assert found.generators.busy == pytest.approx(steps.generation_seconds / steps.seconds, abs=0.1)
    assert found.lag_mean == pytest.approx(steps.lag_mean, abs=0.25)
    assert found.lag_max in (steps.lag_max, steps.lag_max + 1)
