"""How many examples the property tests look at: few by default, 10,000 with --hypothesis-profile=long."""

from hypothesis import HealthCheck, settings

QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
settings.register_profile("short", max_examples=150, deadline=None, derandomize=True, suppress_health_check=QUIET)
settings.register_profile("long", max_examples=10_000, deadline=None, suppress_health_check=QUIET)
settings.load_profile("short")
