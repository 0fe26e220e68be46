# Everything runs from here: `make demo` and `make test` set themselves up from nothing but python3, pip and make.

PYTHON ?= python3
JOBS ?= 2

# An installed uv is used as it is; otherwise a pinned one is put into .uv, which needs no rights and touches nothing else.
ifndef UV
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
endif
UV_READY := $(filter .uv/bin/uv,$(UV))

export UV_PYTHON ?= $(PYTHON)
export UV_PYTHON_PREFERENCE := only-system
export UV_PYTHON_DOWNLOADS := never
export UV_LINK_MODE := copy
export UV_COMPILE_BYTECODE := 1
# Trust the certificates that this machine trusts, as pip does; the second name is for older versions of uv.
export UV_SYSTEM_CERTS ?= true
export UV_NATIVE_TLS ?= true
# The theme's notice about the next major version of MkDocs is not about this project.
export NO_MKDOCS_2_WARNING := 1

# Tests that compile the same program compile it once, in this run and in later ones.
test test-slow mutants: export JAX_COMPILATION_CACHE_DIR := $(CURDIR)/.jax_cache
test test-slow mutants: export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS := 0.3
# Most tests take longer to compile than to run: there the compiler's old and plain ways are twice as fast. The slow
# tests are compiled as a user's programs are, and `make test XLA_FLAGS=` does the same for the others.
test mutants: export XLA_FLAGS ?= --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false \
  --xla_cpu_parallel_codegen_split_count=1

BIN := .venv/bin
CORE := .venv-core/bin
RESULTS := docs/results/reproduction
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-slow lint format docs docs-figures reproduce mutants bench lock upgrade clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: .venv/.ready .venv-core/.ready ## make both environments, pinned by hash

demo: .venv-core/.ready ## learn from draws of a heavy-tailed mixture, sample it nine ways, and write to demo/
	$(CORE)/mafla demo --output demo

test: .venv/.ready ## run the tests and the examples in docstrings, without the slow ones
	$(BIN)/pytest -n $(JOBS) --dist worksteal

test-slow: .venv/.ready ## run the slow tests only
	$(BIN)/pytest -n $(JOBS) --dist loadfile -m slow

lint: .venv/.ready ## check style, types, metadata and the shape of the repository
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/repo-review --show err .

format: .venv/.ready ## rewrite the code in the house style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: .venv/.ready ## build the documentation into site/
	$(BIN)/mkdocs build --strict

docs-figures: .venv/.ready ## draw the pictures of the documentation again
	$(BIN)/python docs/figures/riesz.py

reproduce: .venv/.ready ## run the paper's experiments again, which takes hours, and write the verdicts to docs/
	$(BIN)/mafla reproduce all --output $(RESULTS)
	cp $(RESULTS)/paper-verdicts.md docs/paper-verdicts.md

mutants: .venv/.ready ## break the code on purpose and see that the tests notice
	$(BIN)/python tests/mutants.py

bench: .venv/.ready ## measure the stable law and the kernels
	$(BIN)/mafla bench law
	$(BIN)/mafla bench kernels

lock: $(UV_READY) ## bring requirements/*.txt in line with pyproject.toml; `make upgrade` also takes newer versions
	$(COMPILE) $(COMPILE_FLAGS) requirements/uv.in --output-file requirements/uv.txt
	$(COMPILE) $(COMPILE_FLAGS) pyproject.toml --extra plot --group build --output-file requirements/core.txt
	$(COMPILE) $(COMPILE_FLAGS) pyproject.toml --all-extras --group dev --output-file requirements/dev.txt

upgrade: COMPILE_FLAGS := --upgrade
upgrade: lock ## lock again with the newest versions

clean: ## remove what the targets above wrote, but keep the environments
	rm -rf demo site dist build .jax_cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove the environments too
	rm -rf .venv .venv-core .uv

.uv/bin/uv: requirements/uv.txt
	rm -rf .uv
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --require-hashes --target .uv -r $<
	touch $@

.venv/.ready: requirements/dev.txt pyproject.toml $(UV_READY)
.venv-core/.ready: requirements/core.txt pyproject.toml $(UV_READY)

# In an environment that already fits, this asks no network; `make distclean` gets rid of what is no longer required.
.venv/.ready .venv-core/.ready:
	test -x $(@D)/bin/python || $(UV) venv --quiet --python $(UV_PYTHON) $(@D)
	$(UV) pip install --quiet --python $(@D) --require-hashes -r $<
	$(UV) pip install --quiet --python $(@D) --no-deps --no-build-isolation --editable .
	touch $@
