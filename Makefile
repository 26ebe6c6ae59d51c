# Every target uses the virtual environment in .venv; `make venv` makes it. PYTHON=... chooses another interpreter.
PYTHON ?= .venv/bin/python
SEED ?= 1
RUNS ?= 300
ARGS ?=

.PHONY: help venv check format lint types test signatures report wording bench lab fuzz schema dist

help:            ## list the targets
	@sed -n 's/^\([a-z]*\): .*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

venv:            ## make .venv with everything a developer needs
	python3 -m venv .venv
	.venv/bin/pip install -q -e '.[dev]'

check: format lint types test signatures  ## all that a change must pass

format:          ## is everything formatted?
	$(PYTHON) -m ruff format --check .

lint:            ## ruff
	$(PYTHON) -m ruff check .

types:           ## mypy, strict
	$(PYTHON) -m mypy

test:            ## the tests
	$(PYTHON) -m pytest -q -n auto

signatures:      ## every signature proves itself
	$(PYTHON) -m logsig signatures check

report:          ## where the library is thin, double or costly; makes its own healthy logs
	$(PYTHON) fixtures/healthy/make.py .lab/healthy
	$(PYTHON) -m logsig signatures report .lab/healthy/*.log

wording:         ## which literals a torch wheel no longer says; WHEEL=torch-...whl
	$(PYTHON) fixtures/wording/check_wheel.py $(WHEEL)

schema:          ## write docs/signature.schema.json anew from the model
	$(PYTHON) -m logsig signatures schema > docs/signature.schema.json

bench:           ## ratios beside other tools; makes its own inputs; ARGS="--size 250 --rounds 3" for a quick look
	$(PYTHON) benchmarks/run.py $(ARGS)

lab:             ## run failing jobs with known faults and score the diagnoses (pip install -e '.[lab]'); SEED=1 RUNS=300
	$(PYTHON) fixtures/lab/run_lab.py --seed $(SEED) --runs $(RUNS) --out .lab/seed$(SEED)
	$(PYTHON) fixtures/lab/run_lab.py --score .lab/seed$(SEED) --logsig "$(PYTHON) -m logsig" --misses

fuzz:            ## the property tests alone, with many more inputs
	$(PYTHON) -m pytest -q -n auto -m hypothesis --hypothesis-profile fuzz

dist:            ## wheel and sdist
	$(PYTHON) -m build
