# make run       install, open the app; kernels are compiled when they are needed, and the rest meanwhile
# make serve     several processes behind nginx: make serve PROCESSES=2 PORT=8501
# make cluster   a Dask cluster on this machine: make cluster WORKERS=2, then POSTERIOR_LAB_DASK=tcp://127.0.0.1:8786 make run
# make warm      install, fill the kernel cache
# make test      install development needs and a browser, run everything
# make test BROWSER=no   the same without the browser tests; ends with exit status 3
# make test-cpus the same on two other kinds of CPU, and with ten shifts of all seeds (hours)
# make test-long the slow proofs        make bench   speed, beside peers        make clean
# make soak      ten readers at random for half an hour: what grows, what is left of them
# make chaos     a server that is killed, a full disk, lost kernels, threads that end, a clock that jumps

VENV := .venv
PY := $(VENV)/bin/python
PORT ?= 8501
BROWSER ?= yes
PROCESSES ?= 2
WORKERS ?= 2
SHELL := /bin/sh

.PHONY: run serve cluster test test-long test-cpus soak chaos bench warm clean tools
.DEFAULT_GOAL := run

run: $(VENV)/.installed
	$(PY) -m streamlit run app/main.py --server.port $(PORT)

serve: $(VENV)/.installed
	$(PY) -m app.server.front --processes $(PROCESSES) --listen $(PORT)

cluster: $(VENV)/.installed-cluster
	@$(PY) -m distributed.cli.dask_scheduler --host 127.0.0.1 & scheduler=$$!; \
	$(PY) -m distributed.cli.dask_worker tcp://127.0.0.1:8786 --nworkers $(WORKERS) --nthreads 1 & workers=$$!; \
	trap 'kill $$workers; wait $$workers; kill $$scheduler 2>/dev/null' INT TERM; wait $$workers; kill $$scheduler 2>/dev/null; wait

test: $(VENV)/.installed-dev
	@$(PY) -m tests.everything $(if $(filter no,$(BROWSER)),--no-browser)

test-long: $(VENV)/.installed-dev warm
	$(PY) -m pytest -m long

test-cpus: $(VENV)/.installed-dev
	$(PY) -m tests.cpus

soak: $(VENV)/.installed-dev warm
	$(PY) -m tests.soak

chaos: $(VENV)/.installed-dev warm
	$(PY) -m tests.chaos

bench: $(VENV)/.installed-bench warm
	@for file in benchmarks/[a-z]*.py; do \
	  name=$$(basename $$file .py); echo "== $$name"; $(PY) -m benchmarks.$$name || exit 1; \
	done

warm: $(VENV)/.installed
	@$(PY) -m engine.warm

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis

$(VENV)/.installed: requirements.txt | tools
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

$(VENV)/.installed-cluster: requirements-cluster.txt $(VENV)/.installed
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-cluster.txt
	@touch $@

$(VENV)/.installed-bench: requirements-bench.txt $(VENV)/.installed-dev
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-bench.txt
	@touch $@

# Python 3.11 or newer with venv, and git; says what is missing and how to get it.
tools:
	@command -v git >/dev/null 2>&1 || { echo "git is missing. On Debian or Ubuntu: sudo apt-get install git"; exit 1; }
	@test -x $(PY) && exit 0; \
	for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	  if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then found=$$name; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "Python 3.11 or newer is missing (python3 here: $$(python3 --version 2>&1))."; \
	  echo "On Debian or Ubuntu: sudo apt-get install python3 python3-venv"; exit 1; fi; \
	if ! $$found -c 'import venv, ensurepip' >/dev/null 2>&1; then \
	  echo "The venv module of $$found is missing. On Debian or Ubuntu: sudo apt-get install python3-venv"; exit 1; fi; \
	echo "Making $(VENV) with $$($$found --version)"; $$found -m venv $(VENV)
