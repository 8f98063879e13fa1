# Each target makes .venv first if it must (see scripts/environment) and needs nothing but make and a Python.
#
#   make run         trains a network on the handwritten digits (options: make run ARGS="--epochs 5 --seed 1")
#   make test        check, then all tests
#   make check       ruff, mypy, the rules of the project, every example in docstrings and documents
#   make test-bridges  sets up PyTorch and tests its bridge (two minutes)
#   make bench       the benchmark tables (one of them: make bench ARGS=startup)
#   make fuzz        20,000 random graphs on the cpu (an hour or more; ARGS="--count 1000 --seed 0"), and the property tests
#                    with fresh inputs
#   make test-deep   mutates the package 300 times and counts the mutants that the tests find (ARGS go there); then all
#                    tests, all of what make test runs a share of: vector functions on all float32 numbers
#   make generated   writes what is made from other files: the stubs for type checkers, docs/functions.md,
#                    the second list of docs/glossary.md
#   make python-path prints the Python that a fresh .venv would be made with

PYTHON = .venv/bin/python

# Tests start hundreds of processes; without bytecode each would compile all of its modules.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-bridges check bench fuzz test-deep generated python-path environment-train environment-dev environment-bench
.NOTPARALLEL:

run: environment-train
	.venv/bin/nervure train digits $(ARGS)

# Two workers fill two cores, to the end if one takes tests from the other; a linear-algebra library that starts threads
# of its own only makes them wait.
PYTEST = $(PYTHON) -m pytest -n 2 --dist worksteal -q

test: export OPENBLAS_NUM_THREADS = 1
test: check
	$(PYTEST) tests --ignore=tests/project $(ARGS)

# A machine for which there is no PyTorch keeps the .venv that it has.
test-bridges: export OPENBLAS_NUM_THREADS = 1
test-bridges: environment-dev
	@if $(PYTHON) -c "import torch" 2>/dev/null || $(PYTHON) -m pip install --quiet --dry-run --no-build-isolation \
	    --constraint constraints.txt ".[torch]" >/dev/null 2>&1; \
	then scripts/environment torch,dev,train && $(PYTEST) tests/bridges $(ARGS); \
	else echo "make test-bridges: PyTorch cannot be installed here, so its bridge is not tested"; fi

check: environment-dev
	$(PYTHON) -m ruff check src tests bench
	$(PYTEST) tests/project

bench: environment-bench
	$(PYTHON) -m bench $(ARGS)

fuzz: environment-dev
	$(PYTHON) -m tests.fuzz $(ARGS)
	$(PYTHON) -m pytest -q tests -m hypothesis --hypothesis-profile=fuzz

test-deep: environment-dev
	$(PYTHON) -m tests.deep.mutate $(ARGS)
	DEEP_TESTS=1 OPENBLAS_NUM_THREADS=1 $(PYTEST) tests --ignore=tests/project

generated: environment-dev
	$(PYTHON) -m tests.project.generated

python-path:
	@scripts/environment --python

environment-train:
	@scripts/environment train

environment-dev:
	@scripts/environment dev,train

environment-bench:
	@scripts/environment bench,dev,train
