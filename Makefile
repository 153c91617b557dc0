# Every target does its own set-up from python3, pip and make alone; the set-up is redone when a pyproject.toml changes.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(BIN)/uv
PLUGINS := $(sort $(wildcard plugins/*/pyproject.toml))
EDITABLE := $(foreach file,$(PLUGINS),-e $(dir $(file)))
READY  := $(VENV)/.ready

.PHONY: help setup demo test check format servers bench faults wheels clean

help: ## Show the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## Make the virtual environment, with everything the other targets need

$(READY): pyproject.toml $(PLUGINS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "agentm needs Python 3.11 or newer")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(UV) || $(BIN)/pip install --quiet --disable-pip-version-check uv
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --group dev -e . $(EDITABLE)
	@touch $@

demo: $(READY) ## Show in a minute what agentm does
	@$(BIN)/python -m tests.demo

test: $(READY) ## Run the whole suite, with the short fault campaign
	@$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

check: $(READY) ## Lint, format, types, gates
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/python -m agentm_devkit.gates

format: $(READY) ## Format the code
	@$(BIN)/ruff check --fix --quiet
	@$(BIN)/ruff format

servers: $(READY) ## Install the real servers that tests start: object stores, and IPFS (some minutes the first time)
	@$(BIN)/python plugins/bucket/tests/install_servers.py
	@$(BIN)/python plugins/checkpoint/tests/js_ipfs.py

bench: $(READY) ## Measure; prints tables and writes .cache/bench.json
	@$(BIN)/python -m tests.benchmarks $(ARGS)

faults: $(READY) ## The long fault campaign
	@$(BIN)/python -m tests.faults $(ARGS)

wheels: $(READY) ## Build every wheel into dist/, then test each alone in a clean environment
	@rm -rf dist
	@$(UV) build --quiet --all-packages --wheel --out-dir dist
	@$(BIN)/python -m tests.packaging.wheels dist

clean: ## Remove what the targets made
	@rm -rf $(VENV) dist .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
