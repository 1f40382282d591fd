# `make demo` and `make test` need nothing but Python 3.11 or newer: they set up .venv by themselves.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
TESTS ?= tests
RULES ?= privql/kernel privql/check privql/domains privql/plan privql/functions/scalar/ranges.py
SAMPLE ?= 200
TYPED ?= surfaces docs policy pipeline plan finish ledger kernel
MACHINE ?=
MINUTES ?=
GO_ON ?=
PEERS ?= build/peers
PEER_PYTHON ?= $(PYTHON)
RUNS ?= 1000

# Tests start hundreds of processes: none should compile what another has compiled.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-engines soak mutate check lint types typeguard contract wheel golden attacks grammar proofs bench bench-peers bench-accuracy clean

help:
	@echo 'make demo     a synthetic hospital, a policy and a priced report, released'
	@echo 'make test     every test (TESTS=tests/docs for some)'
	@echo 'make test-engines  those of all engines, with a PostgreSQL and a Spark of their own: 1 GB of packages'
	@echo 'make soak     the machines that look for bugs, at full length: days (MACHINE=neighbours MINUTES=20 GO_ON=1)'
	@echo 'make mutate   change one thing at a time, and see a test fail (RULES=privql/kernel SAMPLE=50)'
	@echo 'make check    lint, types, import contract and tests, these with types checked at run time, too'
	@echo 'make wheel    the package, built and tried'
	@echo 'make golden   rewrite the golden files and the outputs shown in the README; review the diff'
	@echo 'make attacks  attack invented people, and draw the pictures of docs/attacks.md anew'
	@echo 'make grammar  rebuild the parse table from grammar/privql.lark'
	@echo 'make proofs   once a proof was read again: write down the digests of the code that it proves'
	@echo 'make bench    the benchmarks'
	@echo 'make bench-peers     install the packages that answers are compared with (PEERS=folder PEER_PYTHON=...)'
	@echo 'make bench-accuracy  errors beside theirs, at the same budget: half an hour (PEERS=folder RUNS=1000)'

# One stamp for what running and testing need, one more for what checking needs.
$(VENV)/.ready: pyproject.toml
	@test -n '$(PYTHON)' || { echo 'PrivQL needs Python 3.11 or newer; say which with `make PYTHON=...`' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[test]'
	@$(BIN)/python -m compileall -q privql
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

$(VENV)/.ready-engines: $(VENV)/.ready
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[engines]'
	@touch $@

demo: $(VENV)/.ready
	@$(BIN)/privql demo

test: $(VENV)/.ready
	$(BIN)/python -m pytest -n auto $(TESTS)

# With what PostgreSQL and Spark take, each of which is started once. Spark also needs Java 17; without one, that is said.
test-engines: $(VENV)/.ready-engines
	$(BIN)/python -m pytest -n 0 -rs tests/engines tests/ledger/test_postgres.py tests/pipeline/test_on_postgres.py tests/pipeline/test_servers.py tests/queries/test_tpch_postgres.py tests/soundness/test_related_postgres.py

soak: $(VENV)/.ready
	$(BIN)/python -m tests.assurance $(MACHINE) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(GO_ON),--go-on)

mutate: $(VENV)/.ready
	$(BIN)/python -m tests.mutation $(RULES) --sample $(SAMPLE)

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready-dev
	$(BIN)/mypy

# Types at run time in all that the tests of these rooms enter. All tests have them where people hand things in and get
# things back.
typeguard: $(VENV)/.ready
	$(BIN)/python -m pytest -n auto --typeguard-packages=privql -m 'not wrong_types' \
		$(addprefix tests/,$(TYPED))

contract: $(VENV)/.ready-dev
	$(BIN)/lint-imports

check: lint types contract test typeguard

# Built, and run from within its zip: what is shipped holds all that it needs.
wheel: $(VENV)/.ready-dev
	@rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps -w build/wheel .
	@cd build/wheel && PYTHONPATH=$$(echo privql-*.whl) ../../$(BIN)/python -c \
		'import privql; from privql.__main__ import main; assert ".whl" in privql.__file__; raise SystemExit(main(["demo"]))' \
		> demo.txt && echo 'the wheel runs'

golden: $(VENV)/.ready
	PRIVQL_GOLDEN=1 $(BIN)/python -m pytest -n 0 tests

# The data has a fixed seed and the noise has none: the pictures are never twice the same.
attacks: $(VENV)/.ready
	@for name in averaging differencing tracker reconstruct membership; do \
		$(BIN)/privql attack $$name --out docs/pictures/$$name.svg && echo || exit 1; \
	done

grammar: $(VENV)/.ready
	$(BIN)/python -m privql.syntax.table

proofs: $(VENV)/.ready
	$(BIN)/python -m tests.docs.proofs

bench: $(VENV)/.ready
	@for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# Each in an environment of its own, since what they need does not agree. One that cannot be installed is named, here and
# in the table.
bench-peers:
	@set -f; for peer in 'opendp opendp[polars]' 'smartnoise smartnoise-sql' 'diffprivlib diffprivlib scikit-learn<1.7' \
			'pipelinedp pipeline-dp'; do \
		set -- $$peer; name=$$1; shift; \
		$(PEER_PYTHON) -m venv "$(PEERS)/$$name" \
			&& "$(PEERS)/$$name/bin/python" -m pip install -q --disable-pip-version-check "$$@" && echo "$$name: ready" \
			|| { rm -rf "$(PEERS)/$$name"; echo "$$name: could not be installed" >&2; }; \
	done

bench-accuracy: $(VENV)/.ready
	$(BIN)/python -m benchmarks.accuracy --peers "$(PEERS)" --runs $(RUNS)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
