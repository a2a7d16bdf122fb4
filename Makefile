# Each target does its own set-up; nothing outside this folder changes, except system packages that are missing.
PY = .venv/bin/python
TOOLS = tmux jq mandoc zsh fish postgres sshd ps lsof

.PHONY: help setup demo test check bench live drift

help:
	@echo 'make demo    watch fleettools catch an outage, on a tmux server of its own'
	@echo 'make test    the whole test-suite'
	@echo 'make check   ruff, mypy and the layering test'
	@echo 'make bench   measured ratios, see benchmarks/'
	@echo 'make live    the newest agents against a failing backend, see docs/live.md'
	@echo 'make drift   what the newest agents say that is not recorded, see CONTRIBUTING.md'
	@echo 'make setup   only what the others need'

setup:
	@scripts/setup tmux

demo: setup
	@bin/fleetd demo

test:
	@scripts/setup $(TOOLS)
	$(PY) -m pytest -n 6 --dist loadgroup

check: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m pytest tests/test_layers.py

bench:
	@scripts/setup tmux jq
	$(PY) benchmarks/bench.py

live:
	@scripts/setup tmux
	@$(PY) -m tests.live

# Variables of the command line (AGENTS, SINCE, RECORD, and a release for an agent, as CLAUDE=2.1.290) reach it by themselves.
drift: setup
	@$(PY) tests/live/drift.py
