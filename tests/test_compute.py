import json
import time

import pytest

from scalerl.compute import Ledger


class Watch:
    """A clock that a test sets by hand."""

    def __init__(self):
        self.seconds = 100.0

    def __call__(self):
        return self.seconds


def test_flops_by_hand():
    ledger = Ledger(num_parameters=1_000, num_generated_tokens=50, num_prefilled_tokens=20, num_trained_tokens=40)
    ledger.num_evaluation_tokens = 999
    # 6 x 1000 x 40 + 2 x 1000 x (50 + 20) = 240,000 + 140,000; evaluation costs the curve nothing.
    assert ledger.flops == 380_000.0 and isinstance(ledger.flops, float)
    assert ledger.tokens == 50


def test_counters_stay_exact_where_floats_would_not():
    ledger = Ledger(num_parameters=7_000_000_000, num_generated_tokens=2**53)
    ledger.num_generated_tokens += 1
    assert ledger.tokens == 2**53 + 1
    restored = Ledger(num_parameters=7_000_000_000)
    restored.restore(json.loads(json.dumps(ledger.state())))
    assert restored.tokens == 2**53 + 1 and restored.flops == ledger.flops


def test_gpu_hours_charge_generation_training_and_standing_still_on_every_device():
    ledger = Ledger(num_parameters=1, num_devices=8)
    for kind, seconds in (
        ("generation", 900),
        ("judging", 60),
        ("training", 600),
        ("idle", 300),
        ("evaluation", 5000),
        ("redone", 70),
    ):
        ledger.spend(kind, seconds)
    assert ledger.gpu_hours == pytest.approx((900 + 60 + 600 + 300) / 3600 * 8)
    assert ledger.device_seconds["evaluation"] == 40_000 and ledger.device_seconds["redone"] == 560


def test_inner_clocks_take_their_time_from_the_outer_one():
    watch = Watch()
    ledger = Ledger(num_parameters=1, now=watch)
    watch.seconds += 1  # before any clock: nobody's
    with ledger.clock("idle"):
        watch.seconds += 2
        with ledger.clock("generation"):
            watch.seconds += 3
            with ledger.clock("evaluation"):
                watch.seconds += 10
            watch.seconds += 4
        with ledger.clock("training"):
            watch.seconds += 5
        watch.seconds += 6
    watch.seconds += 100
    spent = {"generation": 7, "judging": 0, "training": 5, "evaluation": 10, "idle": 8, "redone": 0}
    assert ledger.device_seconds == spent
    assert ledger.gpu_hours == pytest.approx(20 / 3600)


def test_the_same_kind_within_itself_counts_once():
    watch = Watch()
    ledger = Ledger(num_parameters=1, num_devices=2, now=watch)
    with ledger.clock("training"), ledger.clock("training"):
        watch.seconds += 3
    assert ledger.device_seconds["training"] == 6


def test_a_clock_that_runs_is_read_up_to_now_and_stops_on_an_error():
    watch = Watch()
    ledger = Ledger(num_parameters=1, now=watch)
    with pytest.raises(KeyError), ledger.clock("training"):
        watch.seconds += 3
        assert ledger.device_seconds["training"] == 3 and ledger.state()["device_seconds"]["training"] == 3
        watch.seconds += 1
        raise KeyError
    watch.seconds += 50
    assert ledger.device_seconds["training"] == 4


def test_a_restored_ledger_goes_on_and_keeps_what_other_devices_spent():
    watch = Watch()
    ledger = Ledger(num_parameters=1, num_devices=4, now=watch)
    with ledger.clock("training"):
        watch.seconds += 10
    state = json.loads(json.dumps(ledger.state()))
    later = Ledger(num_parameters=1, num_devices=2, now=watch)
    with later.clock("training"):
        watch.seconds += 1_000  # reading the checkpoint is no part of the state that comes
        later.restore(state)
        watch.seconds += 5
    assert later.device_seconds["training"] == 4 * 10 + 2 * 5


def test_real_time_is_metered():
    ledger = Ledger(num_parameters=1)
    begun = time.monotonic()
    with ledger.clock("generation"):
        time.sleep(0.02)
    assert 0.02 <= ledger.device_seconds["generation"] <= time.monotonic() - begun
