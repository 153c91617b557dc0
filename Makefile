# Every target does its own set-up from python3, pip and make alone; the set-up is redone when a pyproject.toml changes.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(BIN)/uv
PLUGINS := $(sort $(wildcard plugins/*/pyproject.toml))
EDITABLE := $(foreach file,$(PLUGINS),-e $(dir $(file)))
READY  := $(VENV)/.ready

SERVERS := $(VENV)/.servers
INSTALLERS := tests/node.py plugins/bucket/tests/install_servers.py plugins/checkpoint/tests/js_ipfs.py plugins/mcp/tests/install_suites.py plugins/mcp/tests/inspector.py tests/view/axe.py plugins/hosts/tests/programs.py plugins/storage-policy/tests/install_specification.py plugins/devkit/tests/install_databases.py
# What FAST=1 leaves out, by name: it is not installed, and not used where it is.
SERVER_NAMES := moto, SeaweedFS, azurite, s3rver, js-ipfs, Redis, PostgreSQL, axe-core, suites of the adapted packages, the MCP Inspector, and the agent hosts Claude Code, Codex, Gemini CLI, Copilot CLI
# Campaigns of tests/faults in which whole devices work through a real server or a real remote.
ROUNDS := buckets checkpoints git-kills git-races two-devices
# Compiled once, before thousands of processes start from these sources; without this, in an environment that forbids
# Python to write compiled forms, each of them would compile what it loads. By whole paths: a compiled form keeps its own.
unexport PYTHONDONTWRITEBYTECODE
COMPILE = $(BIN)/python -m compileall -q -j 0 $(addprefix $(CURDIR)/,kernel plugins tests)
# Two for each core: half of a test is waiting, for a disk, a server or a deadline.
WORKERS := $(shell $(PYTHON) -c "import os; print(2 * (os.cpu_count() or 1))")
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: help setup demo test check format servers bench figures faults e2e docs mutants dist wheels clean

help: ## Show the targets
	@grep -hE '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## Make the virtual environment, with everything the other targets need

$(READY): pyproject.toml $(PLUGINS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "agentm needs Python 3.11 or newer")'
	@test -e $@ || echo "making $(VENV) with the tools, which takes a minute or two" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(UV) || $(BIN)/pip install --quiet --disable-pip-version-check uv
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --group dev -e . $(EDITABLE)
	@touch $@

demo: $(READY) ## Show in a minute what agentm does
	@$(BIN)/python -m tests.demo

ifdef FAST
test: $(READY) ## Run the whole suite, with real servers and the short fault campaign (FAST=1: without the servers)
	@$(COMPILE)
	@AGENTM_WITHOUT_SERVERS=1 $(PYTEST) $(ARGS); code=$$?; \
	echo "FAST=1 skipped the tests that need real servers: $(SERVER_NAMES)"; exit $$code
else
test: $(SERVERS)
	@$(COMPILE)
	@$(PYTEST) $(ARGS)
endif

check: $(READY) ## Lint, format, types, gates
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/python -m agentm_devkit.gates

format: $(READY) ## Format the code
	@$(BIN)/ruff check --fix --quiet
	@$(BIN)/ruff format

servers: $(SERVERS) ## Install the real servers that tests start: object stores, IPFS, and agent hosts (some minutes the first time)

$(SERVERS): $(READY) $(INSTALLERS)
	@for program in $(INSTALLERS); do \
		$(BIN)/python $$program || { echo "the real servers cannot be installed; FAST=1 does without: make test FAST=1" >&2; exit 1; }; \
	done
	@touch $@

bench: $(READY) ## Measure; prints tables and writes .cache/bench.json
	@$(BIN)/python -m tests.benchmarks $(ARGS)

figures: $(READY) ## Write what was measured into docs/reference/figures.md
	@$(BIN)/python -m tests.benchmarks.figures

faults: $(READY) ## The long fault campaign
	@$(BIN)/python -m tests.faults $(ARGS)

e2e: $(SERVERS) ## Rounds with real programs that are too long for the suite: agent hosts, git, buckets, IPFS, imports, the page (ARGS="--seed N")
	@$(BIN)/python -m tests.packaging.first_minutes
	@$(BIN)/python plugins/hosts/tests/rounds.py
	@$(BIN)/python -m tests.tools.rounds
	@$(BIN)/python plugins/mcp/tests/inspector.py --load 2000
	@$(BIN)/python -m tests.faults $(ROUNDS) $(ARGS)
	@$(BIN)/python plugins/import/tests/real_programs.py
	@$(BIN)/python -m pytest -q -rs -s plugins/import/tests/check_real_programs.py plugins/import/tests/check_kills.py
	@$(BIN)/python -m tests.view.race --rounds 200
	@AGENTM_WHOLE_KIT=1 AGENTM_REQUIRE_SERVERS=1 $(PYTEST) plugins/bucket/tests/test_conformance.py plugins/encryption/tests/test_conformance.py plugins/devkit/tests/conformance/test_correct_stores.py

docs: $(READY) ## Build the documentation as a site into .cache/site
	@$(BIN)/zensical build --clean --strict

mutants: $(SERVERS) ## Change the code and see whether tests notice: 20 minutes (ARGS="--sample N --seed S --only files")
	@$(BIN)/python -m tests.mutants $(ARGS)

dist: $(READY) ## Build every source distribution, and every wheel from it, into dist/
	@rm -rf dist
	@$(UV) build --quiet --all-packages --out-dir dist

wheels: dist ## Build, then let each wheel stand alone in a clean environment, and test it beside the others (ARGS="--only upgraded": a part)
	@$(BIN)/python -m tests.packaging.wheels dist $(ARGS)

clean: ## Remove what the targets made
	@rm -rf $(VENV) dist .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
