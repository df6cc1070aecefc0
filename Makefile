# Everything a clone needs: git, make and python3 (3.11 or newer). `make demo` and `make test` install into .venv.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
TESTS  := tests

# FAST=1 takes the package with its busiest modules compiled, where there is a C compiler: make demo FAST=1
ifdef FAST
COMPILED := build/fast/.built
export PYTHONPATH := $(CURDIR)/build/fast
endif

.PHONY: demo test check bench fast kube programs e2e clean format

demo: $(VENV)/.installed $(COMPILED)
	$(BIN)/ghostfleet scale-test -n 1000 -p 50 --delay 2 --stages general -o demo --force

# All tests, or those that are named: make test TESTS=tests/stages
test: $(VENV)/.installed-dev $(COMPILED)
	$(BIN)/pytest -n 2 --dist loadgroup $(TESTS)

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# All benchmarks but the longest, or those that are named: make bench ONLY=side_by_side
bench: $(VENV)/.installed-dev $(COMPILED)
	$(BIN)/python -m benchmarks $(ONLY)

# The package with its busiest modules compiled by mypyc: minutes once, and again when a module changes.
fast: build/fast/.built

# A real control plane and kwok, built from their Go modules into the user's cache: minutes once, then nothing.
kube:
	@sh tools/kube/build.sh

# Programs that people run on Kubernetes (KAI, Kueue, Helm), built from their Go modules into the user's cache, or those
# that are named: make programs ONLY=kai. Minutes once, then nothing.
programs:
	@sh tools/programs/build.sh $(ONLY)

# With real programs, where they can be had: the script of commands with each kubectl, our commands on a real control
# plane, and the programs of Kubernetes and KWOK on our server. Without a Go toolchain (3) it says what it skips. What
# `make programs` has built is used too. And an hour of cluster time of mixed work, on a clock sixty times as fast.
e2e: $(VENV)/.installed-dev
	sh tools/get-kubectl.sh
	GHOSTFLEET_TESTS_KUBECTL=all $(BIN)/pytest -n 2 --dist loadgroup tests/kubectl tests/parity
	GHOSTFLEET_TESTS_SOAK=60 $(BIN)/pytest -v -s tests/cluster/test_soak.py
	@sh tools/kube/build.sh || test $$? -eq 3
	GHOSTFLEET_TESTS_REAL=1 $(BIN)/pytest -v tests/kube tests/programs

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

build/fast/.built: pyproject.toml $(shell find src -name '*.py') | $(VENV)/bin/python
	@command -v cc > /dev/null || { echo "to compile modules needs a C compiler (cc); without FAST=1 none is needed"; exit 2; }
	rm -rf build/fast build/source && mkdir -p build/source
	# From a copy, for the compiler moves pyproject.toml out of its way while it works.
	cp -r pyproject.toml README.md LICENSE src build/source
	HATCH_BUILD_HOOK_ENABLE_MYPYC=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target build/fast build/source
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "ghostfleet needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fast,plots]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.installed
