"""What is loaded when: the light half stays light."""

import subprocess
import sys

import pytest

HEAVY = ("numpy", "scipy", "matplotlib", "torch", "rich.console")


def loaded_by(code: str) -> set[str]:
    found = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(found.stdout.split())


def test_import_scalerl_loads_nothing_heavy():
    assert not loaded_by("import scalerl") & set(HEAVY)


def test_fitting_loads_neither_torch_nor_matplotlib():
    code = "import scalerl; scalerl.fit(scalerl.Curve.of([1, 2, 3], [.1, .2, .3], unit='steps'))"
    loaded = loaded_by(code)
    assert "scipy" in loaded and not loaded & {"torch", "matplotlib", "typer"}


def test_every_public_name_has_a_home():
    import scalerl

    assert all(getattr(scalerl, name) is not None for name in scalerl.__all__)
    assert dir(scalerl) == sorted(scalerl.__all__)
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        _ = scalerl.fitt
