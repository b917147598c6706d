# The two commands that matter: `make run` and `make test`. `make` alone lists the rest.

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
SETUP := $(PYTHON) scripts/setup.py --for
# Node may be the one that set-up got from its wheel, so npm's programs are started through this.
NPX := $(BIN)/python scripts/npm_program.py

.DEFAULT_GOAL := help
.PHONY: help run test test-pooler test-redis-py check bench chaos site lock clean clean-data

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## set up, then serve the page at http://127.0.0.1:8000 (ARGS="--port 9000" for another port)
	@$(SETUP) run && exec $(BIN)/workers serve $(ARGS)

test: check ## check, then run every test (ARGS="-k depth" for some of them)
	@$(SETUP) test
	@$(BIN)/python -c "from tests.redisq import oldest; oldest.install()"
	@$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder $(ARGS)

test-pooler: ## every test that has a database, through pgbouncer in transaction mode
	@$(SETUP) test
	@WORKERS_TEST_POOLER=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile \
		--no-loadscope-reorder tests/server tests/chaos tests/hosts $(ARGS)

test-redis-py: ## the queue's tests on the oldest redis-py that is supported
	@$(SETUP) test
	@$(BIN)/python -m tests.redisq.oldest $(ARGS)

check: ## types, lint, import direction, HTML, equality of both languages
	@$(SETUP) check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(NPX) tsc --project tsconfig.json
	$(NPX) tsc --project tsconfig.worker.json
	$(NPX) tsc --project tsconfig.scripts.json
	$(NPX) biome ci
	$(NPX) html-validate index.html examples/pool/index.html site/index.html site/en/index.html site/404.html

bench: ## measure every claim about speed, each as a ratio within one run
	@$(SETUP) test
	@for file in bench/[a-z]*.py; do \
		$(BIN)/python -m bench.$$(basename $$file .py) $(ARGS) || exit 1; \
	done

chaos: ## 10,000 deliveries, 10,000 jobs, 200 faults each, every promise checked (ARGS="--seed 7")
	@$(SETUP) test
	@$(BIN)/python -m tests.chaos --deliveries 10000 --faults 200 $(ARGS)
	@$(BIN)/python -m tests.redisq.chaos --jobs 10000 --faults 200 $(ARGS)

site: ## build the static site into site/ (any static server can serve it)
	@$(SETUP) run

lock: ## resolve both lock files anew from pyproject.toml
	@$(SETUP) check
	@$(BIN)/python scripts/lock.py

clean: ## delete what set-up and builds made; keep .data/
	rm -rf .venv .cache node_modules site dist .mypy_cache .ruff_cache .pytest_cache \
		.hypothesis .import_linter_cache test-results

clean-data: ## delete .data/: the database and everything in it
	rm -rf .data
