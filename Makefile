# make test · test-browser · demo · lint · format · bench · pins · audit · compat · sanitize. Each target installs what
# it needs into .venv, so it also works on a fresh machine. PINNED=1 installs the versions in requirements/ci.txt and
# checks their hashes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet
SUDO := $(if $(shell command -v sudo),sudo -n)
TORCH ?= torch==2.13.0
# If not all extras can be installed together, they are installed one by one.
EXTRAS := oracles browser gensim spacy sentence-transformers torch sklearn hub lm transformers wiki distributed
CORPUS ?= $(error make bench needs CORPUS=tokenized-text DATA=folder [TEXT=raw-text], see benchmarks/README.md)
DATA ?= $(error make bench needs DATA=folder, see benchmarks/README.md)
TEXT ?= $(CORPUS)
# Every file that is built or installed, at any depth. The folders are included because their time changes when a file
# is removed.
SOURCES := $(shell find cpp src CMakeLists.txt pyproject.toml -name __pycache__ -prune -o ! -name '*.so' -print)
CPP_SOURCES := $(filter %.cpp %.hpp,$(SOURCES)) $(wildcard benchmarks/*.cpp)

PINS := requirements/ci.txt

.PHONY: test test-browser demo lint format bench pins audit compat sanitize clean

test: $(VENV)/.test $(VENV)/.browser
	$(BIN)/python -m pytest -n auto --dist loadfile

# The tests of the explorer in a browser alone. They fail if there is no browser; make test skips them.
test-browser: $(VENV)/.test
	$(PIP) "posvec[browser]"
	$(FIND_CHROMIUM) || $(INSTALL_CHROMIUM)
	POSVEC_BROWSER=1 $(BIN)/python -m pytest tests/explorer/test_explorer_browser.py

demo: $(VENV)/.base
	$(BIN)/python examples/demo.py

# lint-imports reads the sources and not the installed package.
lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP_SOURCES)

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP_SOURCES)

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/preparing.py $(TEXT)
	$(BIN)/python benchmarks/speed.py $(CORPUS)
	$(BIN)/python benchmarks/growth.py $(CORPUS)
	$(BIN)/python benchmarks/roofline.py $(CORPUS)
	$(BIN)/python benchmarks/accuracy.py $(CORPUS) $(DATA)
	$(BIN)/python benchmarks/equal_time.py $(CORPUS) $(DATA)
	$(BIN)/python benchmarks/analogies.py $(DATA)/analogy/en/questions-words.txt
	$(BIN)/python benchmarks/queries.py
	$(BIN)/python benchmarks/formats.py

# Pins the newest versions of everything that the tests and lint need, without PyTorch and its packages for GPUs, which
# TORCH chooses.
pins: $(BIN)/python
	$(PIP) "uv>=0.5"
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.10 --generate-hashes --no-annotate --no-header \
		$(addprefix --extra ,test oracles browser all lint) pyproject.toml requirements/ci.in -o $(PINS).all
	awk '/^[^ ]/ {keep = !/^(torch|triton|nvidia-|cuda-)/} keep' $(PINS).all > $(PINS)
	rm $(PINS).all

# Looks up known vulnerabilities of the pinned versions on PyPI. --strict: a package that cannot be looked up is a failure.
audit: $(BIN)/python
	$(PIP) "pip-audit>=2.7"
	$(BIN)/pip-audit --strict --disable-pip --require-hashes --requirement $(PINS)

# Tests every Python from 3.10 to 3.13 on this machine, with the oldest and the newest packages that posvec allows.
compat: $(BIN)/python
	$(PIP) "uv>=0.5"
	$(BIN)/python reliability/compatibility.py

# Runs the tests on kernels that are built with sanitizers: reliability/README.md
sanitize: $(VENV)/.test
	$(BIN)/python reliability/sanitize.py address -q
	$(BIN)/python reliability/sanitize.py thread -q

clean:
	rm -rf $(VENV) build

# One stamp file per set of packages. posvec is installed again only if a source has changed. Extras are installed with
# "posvec[extra]" instead of ".[extra]", which would build the installed posvec again.
$(VENV)/.base: $(SOURCES) | $(BIN)/python
	$(if $(PINNED),$(PIP) --no-deps $(TORCH))
	$(if $(PINNED),$(PIP) --no-deps --require-hashes --requirement $(PINS))
	$(PIP) $(if $(PINNED),--no-deps --no-build-isolation) .
	@touch $@

# PyTorch is installed first, because as a dependency of the extras it comes with several gigabytes for GPUs. If the
# package index has no build without them, use TORCH="torch --index-url https://download.pytorch.org/whl/cpu".
$(VENV)/.test: $(VENV)/.base
	$(PIP) "posvec[test]"
	$(PIP) $(TORCH) || true
	$(PIP) "posvec[oracles,browser,all]" || for extra in $(EXTRAS); do \
		$(PIP) "posvec[$$extra]" || echo "$$extra cannot be installed: its tests are skipped"; done
	@touch $@

# Chromium for the tests of the explorer, from the system's packages, or from playwright's server as the last resort.
FIND_CHROMIUM = command -v chromium || command -v chromium-browser || command -v google-chrome
INSTALL_CHROMIUM = { $(SUDO) apt-get update && $(SUDO) apt-get install -y --no-install-recommends chromium; } || \
	PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT=10000 $(BIN)/python -m playwright install chromium

$(VENV)/.browser: | $(VENV)/.test
	$(FIND_CHROMIUM) || $(INSTALL_CHROMIUM) || echo "Chromium cannot be installed: its tests are skipped"
	@touch $@

$(VENV)/.lint: $(VENV)/.base
	$(PIP) "posvec[lint]"
	@touch $@

$(VENV)/.bench: $(VENV)/.base
	$(PIP) "posvec[bench]"
	@touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
