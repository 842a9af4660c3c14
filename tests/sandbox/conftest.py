import pytest

from scalerl.sandbox import Sandbox


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as opened:
        yield opened
