# Two commands a newcomer needs: `make run` and `make test`. Everything they install goes into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: run quick test lint types docs pytest mutants format clean

run: $(VENV)/.installed
	$(BIN)/fastgntk evaluate MUTAG --report mutag.html

# For every edit: style, types, and the tests that are not marked slow.
quick: lint types
	$(BIN)/python -m pytest -n 2 -m "not slow"

# Everything: what continuous integration runs.
test: lint types docs pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

# Some seconds, no network; every warning is an error. The variable silences an advertisement, not a warning about the pages.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m doctest tools/docs_site.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

pytest: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2

mutants: $(VENV)/.installed-dev
	$(BIN)/python tools/mutants.py

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fastgntk needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build site
