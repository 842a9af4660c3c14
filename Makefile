# The two commands a fresh clone needs: `make demo` and `make test`; each sets up what it uses.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test lint fuzz backtest bench clean

setup: .venv/ready

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/python examples/demo.py

test: lint
	$(BIN)/python -m pytest -n 2

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

clean:
	rm -rf .venv build dist out
