# The two commands of a newcomer are `make demo` and `make test`; `make help` lists the others.
# Everything runs in .venv, which is made on first use and brought up to date whenever pyproject.toml changes.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo announce test fuzz check format docs clean

help: ## List these targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

demo: $(VENV)/stamp-base ## Differentiate, compile, run, check and cost a transformer block
	@$(BIN)/python -m wengert.lab.demo

test: announce $(VENV)/stamp-test ## Run the whole test suite on all cores
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

fuzz: $(VENV)/stamp-test ## Random programs on all cores for MINUTES=30; findings are reduced and kept in fuzz-findings/
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(or $(MINUTES),30) $(ARGS)

# Said before anything is done. Without an index of PyTorch's CPU builds, pip takes the build for CUDA.
announce:
	@test -e $(VENV)/stamp-test || echo "First, $(VENV) is made: JAX, PyTorch, a driver of OpenCL and the tools are downloaded, 0.8 GB with PyTorch's CPU build, 3.3 GB with the one for CUDA (once)."
	@echo "The whole suite takes 15 to 35 minutes on two cores, by their speed, less on more."

check: $(VENV)/stamp-test ## Lint, format check, strict types, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

format: $(VENV)/stamp-test ## Format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/stamp-docs ## Build the documentation, warnings as errors, into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean: ## Remove the environment and all that was built
	rm -rf $(VENV) build dist docs/_build wengert.egg-info

# -- the environment: one stamp per set of extras

# pip does not compile what it installs in place, so that the first start would have to (half a second).
COMPILE = $(BIN)/python -m compileall -q __init__.py __main__.py dialects frontends ir lab runtime transforms

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "wengert needs Python 3.11 or later: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/stamp-base: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e .
	@$(COMPILE)
	@touch $@

$(VENV)/stamp-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[test]'
	@$(COMPILE)
	@touch $@ $(VENV)/stamp-base

$(VENV)/stamp-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[docs]'
	@$(COMPILE)
	@touch $@ $(VENV)/stamp-base
