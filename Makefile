# Every command sets up .venv first; the second time that takes no time.
# All paths are relative, so that a checkout below a path with spaces works.
PYTHON ?= python3
STAMP := .venv/.stamp
# A file's tests share what they set up, so a file stays with one process; where pytest-xdist is not
# installed, and with ARGS=-n0, all tests run in one.
SPREAD = $(if $(shell .venv/bin/python -c 'import xdist; print(1)' 2>/dev/null),-n auto --dist loadfile --no-loadscope-reorder)

.PHONY: help setup bench test check format clean

help:  ## what can be typed here
	@grep -hE '^[a-z]+:.*## ' Makefile | sed -e 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml constraints.txt scripts/setup
	@PYTHON='$(PYTHON)' scripts/setup

setup: $(STAMP)  ## create .venv

bench: $(STAMP)  ## compile, check and (with a GPU) time the default suite
	@.venv/bin/harness run $(ARGS)

# What a test process compiles of this package's Python, the hundreds that follow load, even where
# the user's own do not.
test: $(STAMP)  ## run the tests
	@PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest $(SPREAD) $(ARGS)

check: $(STAMP)  ## formatting, lint, types, layers, size budget
	@scripts/check

format: $(STAMP)  ## let ruff format and fix
	@.venv/bin/python -m ruff format .
	@.venv/bin/python -m ruff check --fix .

clean:  ## remove .venv and caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
