# make test · make demo · make lint · make bench: each sets up what it needs in .venv, on a fresh machine too.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORPUS ?= $(error make bench needs CORPUS=tokenized-text DATA=folder, see benchmarks/README.md)
SOURCES := $(wildcard cpp/* src/posvec/*.py src/posvec/*/*.py src/posvec/*.pyi) CMakeLists.txt pyproject.toml

.PHONY: test demo lint format bench clean

test: $(VENV)/.test
	$(BIN)/python -m pytest

demo: $(VENV)/.base
	$(BIN)/python examples/demo.py

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror cpp/*

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i cpp/*

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/speed.py $(CORPUS)
	$(BIN)/python benchmarks/accuracy.py $(CORPUS) $(DATA)
	$(BIN)/python benchmarks/queries.py

clean:
	rm -rf $(VENV) build

# A stamp per set of packages; the package itself is installed again only when a source has changed.
$(VENV)/.base: $(SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --quiet .
	@touch $@

$(VENV)/.test: $(VENV)/.base
	$(BIN)/python -m pip install --quiet ".[test,ann]"
	$(BIN)/python -m pip install --quiet ".[oracles]" || echo "gensim or fasttext cannot be installed: their tests are skipped"
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	$(BIN)/python -m pip install --quiet ".[lint]"
	@touch $@

$(VENV)/.bench: $(VENV)/.base
	$(BIN)/python -m pip install --quiet ".[bench]"
	@touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
