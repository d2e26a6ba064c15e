# All commands of a developer. `make` alone lists the targets; the CI runs the same ones (.ci/run).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/stamp

# One thread per process: the tests run two workers, sums do not depend on the machine, and small
# matrices gain nothing from more threads.
SINGLE := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
INSTALL := $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python \
	--constraints constraints.txt --build-constraints constraints.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-slow test-oldest test-newest test-313 test-ecosystem test-browser test-cluster results-check lint type bench bench-list doc linkcheck dist release changelog constraints clean

help: ## list all targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)-setup ## make .venv with the packages for tests and linters
	@echo "$(VENV) is ready."

# uv is installed into the environment itself, so only python3 and make are required.
$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "skshapley needs Python >= 3.11; choose one with make PYTHON=... setup"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv

$(STAMP)-setup: pyproject.toml constraints.txt | $(BIN)/uv
	$(INSTALL) --editable . --group test --group lint
	@touch $@

$(STAMP)-bench: $(STAMP)-setup
	$(INSTALL) --group bench
	@touch $@

$(STAMP)-doc: $(STAMP)-setup
	$(INSTALL) --group doc
	@touch $@

demo: $(STAMP)-setup ## explain an XGBoost model and an MLP on real data; writes demo_output/ and a report
	$(SINGLE) $(BIN)/python examples/demo.py

test: $(STAMP)-setup ## run the tests and doctests except the slow ones, two at a time
	$(SINGLE) $(BIN)/python -m pytest -m "not slow" -n 2

test-slow: $(STAMP)-setup ## run the slow tests, and some others with another BLAS kernel
	$(SINGLE) $(BIN)/python -m pytest -m slow -n 2

results-check: $(STAMP)-setup ## compute one cell of each results file again; the version selects the cell
	$(BIN)/python -m tests.test_results_recomputed
	$(SINGLE) $(BIN)/python -m pytest tests/test_results_recomputed.py

test-browser: $(STAMP)-setup ## open the report in a browser; downloads one if there is none
	$(INSTALL) --group browser
	command -v chromium || command -v chromium-headless-shell || command -v google-chrome || \
		$(BIN)/playwright install chromium-headless-shell
	$(SINGLE) $(BIN)/python -m pytest tests/report/test_browser.py tests/report/test_what_if_browser.py

test-cluster: | $(BIN)/uv ## run the tests on local dask, Spark and Ray clusters; needs Java
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python $(VENV)/$@
	$(BIN)/uv pip install --quiet --python $(VENV)/$@/bin/python --constraints constraints.txt \
		--editable . --group test --group cluster
	$(BIN)/uv pip install --quiet --python $(VENV)/$@/bin/python "mlflow-skinny>=3" # of other pins
	$(SINGLE) $(VENV)/$@/bin/python -m pytest tests/cluster tests/batches/test_lazy.py

# Other Python versions: a version that uv finds or downloads, or the path of an interpreter.
PYTHON311 ?= 3.11
PYTHON313 ?= 3.13
TESTED = $(SINGLE) $(VENV)/$@/bin/python -m pytest -m "not slow" -n 2 $(TESTS)

test-oldest: | $(BIN)/uv ## run the tests with the oldest versions that pyproject.toml allows
	$(BIN)/uv venv --quiet --allow-existing --python $(PYTHON311) $(VENV)/$@
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --python-version 3.11 \
		--no-header --no-annotate pyproject.toml --output-file $(VENV)/$@/oldest.txt
	$(BIN)/uv pip install --quiet --python $(VENV)/$@/bin/python \
		--constraints $(VENV)/$@/oldest.txt --editable . --group test
	$(TESTED)

test-newest: | $(BIN)/uv ## run the tests with the newest versions of all packages and Python 3.13
	$(BIN)/uv venv --quiet --allow-existing --python $(PYTHON313) $(VENV)/$@
	$(BIN)/uv pip install --quiet --upgrade --python $(VENV)/$@/bin/python --editable . --group test
	$(TESTED)

test-313: | $(BIN)/uv ## run the tests with the versions of constraints.txt and Python 3.13
	$(BIN)/uv venv --quiet --allow-existing --python $(PYTHON313) $(VENV)/$@
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(VENV)/$@/bin/python \
		--constraints constraints.txt --build-constraints constraints.txt --editable . --group test
	$(TESTED)

test-ecosystem: | $(BIN)/uv ## explain models and pipelines of other libraries, in a separate environment
	$(BIN)/uv venv --quiet --allow-existing --python $(PYTHON311) $(VENV)/$@
	$(BIN)/uv pip install --quiet --python $(VENV)/$@/bin/python --editable . --group ecosystem
	$(SINGLE) $(VENV)/$@/bin/python -m pytest -m slow tests/ecosystem tests/what_if/test_tables.py

lint: $(STAMP)-setup ## check style, format, and the rules of the house
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell $$(git ls-files 2>/dev/null || echo skshapley tests doc README.md)
	$(BIN)/python -m pytest -q tests/test_house_rules.py

type: $(STAMP)-setup ## check the types
	$(BIN)/mypy

# A subject is a file or a folder of benchmarks/; benchmarks/README.md lists them. ARGS has its options.
bench: $(STAMP)-bench ## run all benchmarks; takes hours
	set -e; for subject in $$($(BIN)/python -m benchmarks | cut -d" " -f1); do \
		$(MAKE) --no-print-directory bench-$$subject; done

bench-list: $(STAMP)-setup ## list the benchmarks; make bench-speed ARGS="..." runs one of them
	@$(BIN)/python -m benchmarks

bench-%: $(STAMP)-bench
	$(SINGLE) $(BIN)/python -m benchmarks $* $(ARGS)

# The newest shapiq needs Python 3.12, so peers have a separate environment: a version that uv
# finds or downloads, or the path of an interpreter. Its versions are not pinned.
PYTHON312 ?= 3.12
PEERS := $(VENV)/peers
$(STAMP)-peers: pyproject.toml | $(BIN)/uv
	$(BIN)/uv venv --quiet --allow-existing --python $(PYTHON312) $(PEERS)
	$(BIN)/uv pip install --quiet --upgrade --python $(PEERS)/bin/python --editable . --group peers
	@touch $@

bench-accuracy bench-games bench-interactions bench-speed bench-trees: bench-%: $(STAMP)-peers
	$(SINGLE) $(PEERS)/bin/python -m benchmarks $* $(ARGS)

doc: $(STAMP)-doc ## build the documentation into doc/_build/html
	$(BIN)/python -m sphinx -W --keep-going doc doc/_build/html

linkcheck: doc ## check the links; those to other sites need a network
	$(BIN)/python doc/check_links.py doc/_build/html

# The wheel is built from the sdist, and tested with its dependencies only. Then the tests of the
# sdist run against the wheel, outside the source folder.
DIST := build/dist
DIST_TESTS ?= tests -m "not slow" -n 2
dist: $(STAMP)-setup ## build wheel and sdist into dist/, and test both in separate environments
	rm -rf dist $(DIST)
	$(BIN)/uv build --quiet --python $(BIN)/python --build-constraints constraints.txt --out-dir dist
	$(BIN)/uv venv --quiet --python $(BIN)/python $(DIST)/venv
	$(BIN)/uv pip install --quiet --python $(DIST)/venv/bin/python --constraints constraints.txt dist/*.whl
	cd $(DIST) && venv/bin/python -I ../../tools/smoke.py
	mkdir $(DIST)/sdist && tar -xzf dist/*.tar.gz -C $(DIST)/sdist --strip-components 1
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(DIST)/venv/bin/python \
		--constraints constraints.txt \
		--group $(DIST)/sdist/pyproject.toml:test --group $(DIST)/sdist/pyproject.toml:lint
	cd $(DIST)/sdist && $(SINGLE) ../venv/bin/pytest $(DIST_TESTS)

release: $(STAMP)-setup ## write, build, test and tag VERSION; with DRY_RUN=1 only show its changelog
	$(BIN)/python tools/release.py $(VERSION) $(if $(DRY_RUN),--dry-run)

changelog: $(STAMP)-setup ## show the changelog of the next release
	$(BIN)/towncrier build --draft

constraints: | $(BIN)/uv ## renew constraints.txt with the newest versions
	$(BIN)/uv pip compile --quiet --upgrade --python-version 3.11 \
		--group setup --group lint --group test --group bench --group doc pyproject.toml \
		--no-annotate --custom-compile-command "make constraints" --output-file constraints.txt

clean: ## remove all files made by these targets, and .venv
	rm -rf $(VENV) build dist demo_output benchmarks/output doc/_build doc/auto_examples doc/generated
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find skshapley tests examples benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
