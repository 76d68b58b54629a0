# Two commands do everything: `make demo` and `make test`. Each makes .venv where it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test lint types unit bench lock clean

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# An editable install, so that the command runs from this checkout; nothing but the locked files is fetched.
$(VENV)/run.stamp: requirements.txt pyproject.toml | $(BIN)/python
	@echo "installing the locked packages (a minute or two the first time)"
	$(PIP) install --require-hashes -r requirements.txt
	$(PIP) install --no-deps --no-build-isolation --no-index -e .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.txt $(VENV)/run.stamp
	$(PIP) install --require-hashes -r requirements-dev.txt
	@touch $@

demo: $(VENV)/run.stamp ## consolidate the samples and recall three questions
	$(BIN)/slowwave demo

test: lint types unit ## lint, types and tests

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/sqlfmt --check --quiet sql

types: $(VENV)/dev.stamp
	$(BIN)/mypy

unit: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

bench: $(VENV)/dev.stamp ## measure; appends JSON lines under benchmarks/
	$(BIN)/python -m benchmarks

lock: ## compile the requirement files anew (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet \
		--extra build pyproject.toml -o requirements.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet \
		--extra build --extra dev --extra quality --extra cluster -c requirements.txt pyproject.toml -o requirements-dev.txt

clean: ## remove the environment and the demo's lake
	rm -rf $(VENV) .demo
