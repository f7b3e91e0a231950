# make test · test-browser · demo · lint · bench · pins · audit · compat · sanitize: each sets up
# what it needs in .venv, on a fresh machine too. PINNED=1 installs the versions of requirements/ci.txt, by their hashes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet
SUDO := $(shell command -v sudo)
TORCH ?= torch==2.13.0
# What other libraries' tests need, one by one: pyproject.toml
EXTRAS := oracles browser gensim spacy sentence-transformers torch sklearn hub lm transformers wiki distributed
CORPUS ?= $(error make bench needs CORPUS=tokenized-text DATA=folder [TEXT=raw-text], see benchmarks/README.md)
DATA ?= $(error make bench needs DATA=folder, see benchmarks/README.md)
TEXT ?= $(CORPUS)
SOURCES := $(wildcard cpp/*/* src/posvec/*.py src/posvec/*.pyi src/posvec/*/* src/posvec/*/*/*) CMakeLists.txt pyproject.toml

PINS := requirements/ci.txt

.PHONY: test test-browser demo lint format bench pins audit compat sanitize clean

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile

# The explorer in a real browser; make test runs these too where there is one.
test-browser: $(VENV)/.test
	$(PIP) "posvec[browser]"
	command -v chromium || command -v chromium-browser || command -v google-chrome || \
		{ $(SUDO) apt-get update && $(SUDO) apt-get install -y --no-install-recommends chromium; } || \
		$(BIN)/python -m playwright install --with-deps chromium
	POSVEC_BROWSER=1 $(BIN)/python -m pytest tests/explorer/test_explorer_browser.py

demo: $(VENV)/.base
	$(BIN)/python examples/demo.py

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror cpp/*/* benchmarks/*.cpp

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i cpp/*/* benchmarks/*.cpp

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

# Newer versions of all that tests need. PyTorch and its packages for GPUs are left out: see TORCH below.
pins: $(BIN)/python
	$(PIP) "uv>=0.5"
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.10 --generate-hashes --no-annotate --no-header \
		$(addprefix --extra ,test oracles browser all lint) pyproject.toml requirements/ci.in -o $(PINS).all
	awk '/^[^ ]/ {keep = !/^(torch|triton|nvidia-|cuda-)/} keep' $(PINS).all > $(PINS)
	rm $(PINS).all

# Known vulnerabilities of these versions; asks PyPI. Strict: what could not be asked about has not passed.
audit: $(BIN)/python
	$(PIP) "pip-audit>=2.7"
	$(BIN)/pip-audit --strict --disable-pip --require-hashes --requirement $(PINS)

# Every Python from 3.10 to 3.13 on this machine, with the oldest and the newest packages that posvec allows.
compat: $(BIN)/python
	$(PIP) "uv>=0.5"
	$(BIN)/python reliability/compatibility.py

# The tests on a kernel that watches every access: reliability/README.md
sanitize: $(VENV)/.test
	$(BIN)/python reliability/sanitize.py address -q
	$(BIN)/python reliability/sanitize.py thread -q

clean:
	rm -rf $(VENV) build

# A stamp per set of packages; the package itself is installed again only when a source has changed. The extras of an
# installed posvec are asked for by its name: a dot would build it once more.
$(VENV)/.base: $(SOURCES) | $(BIN)/python
	$(if $(PINNED),$(PIP) --no-deps $(TORCH))
	$(if $(PINNED),$(PIP) --no-deps --require-hashes --requirement $(PINS))
	$(PIP) $(if $(PINNED),--no-deps --no-build-isolation) .
	@touch $@

# PyTorch first and alone: asked for by those that need it, it comes with several gigabytes for GPUs. Where there is no
# such build, TORCH="torch --index-url https://download.pytorch.org/whl/cpu" gets one.
$(VENV)/.test: $(VENV)/.base
	$(PIP) "posvec[test]"
	$(PIP) $(TORCH) || true
	$(PIP) "posvec[oracles,browser,all]" || for extra in $(EXTRAS); do \
		$(PIP) "posvec[$$extra]" || echo "$$extra cannot be installed: its tests are skipped"; done
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	$(PIP) "posvec[lint]"
	@touch $@

$(VENV)/.bench: $(VENV)/.base
	$(PIP) "posvec[bench]"
	@touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
