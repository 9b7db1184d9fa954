# Everything that can be done, each with one word. `make` alone lists it.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup lock wheel up fetch down status run bench quick pure test tests test-long test-engine test-field test-compose chaos compose-build compose-up compose-down lint types docs pictures clean

bin := .venv/bin
lab := $(or $(CLUSTERBENCH_LAB_DIR),.lab)
# `make run EXPERIMENT=… SCALE=…`; without them a part of every study, as below
EXPERIMENT ?=
SCALE ?= laptop
export PYTHON
# Processes that run tests at once. Most tests wait for servers most of the time.
workers ?= 4
# Every process that is started would compile all of it again.
unexport PYTHONDONTWRITEBYTECODE
# `make lint` has them checked; a test knows whether any is missing here
shell_scripts := .ci/run include/compose/clusterbench $(wildcard include/*/*.sh include/*/*/*.sh)
# Debian's program, or Docker's own plugin
compose := $(if $(shell command -v docker-compose),docker-compose,docker compose)

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 20

setup:  ## install what is missing: Debian packages, Python packages in .venv
	@include/lab/install.sh

# libvirt's is apart: it has to be compiled, which the containers and most workers need not be able to.
lock:  ## write requirements.lock from pyproject.toml; versions stay where they can
	$(bin)/uv pip compile pyproject.toml --extra all --group dev --universal --python-version 3.11 --generate-hashes --no-header -o requirements.lock
	printf '%s\n' libvirt-python setuptools | $(bin)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o include/lab/libvirt.txt -

wheel: setup  ## a release in dist/: the package with all that it needs, for an Airflow that is there already
	$(bin)/uv build --quiet --wheel --no-build-isolation --out-dir dist

up: setup  ## bring the lab up: hosts, PostgreSQL, S3, Airflow, all on this machine
	@$(bin)/clusterbench lab up

# What the labs of the tests copy. Where it fails, they fetch for themselves, and say why they cannot.
fetch: setup
	-@$(bin)/clusterbench lab fetch

down:  ## stop the lab; its data stays
	@$(bin)/clusterbench lab down

status:  ## how every server of the lab is
	@$(bin)/clusterbench lab status

run: up  ## the weekly run with a part of every study, on the lab; all of one: EXPERIMENT=retail SCALE=laptop
ifdef EXPERIMENT
	$(bin)/clusterbench run $(EXPERIMENT) --scale $(SCALE)
else
	$(bin)/clusterbench run weekly --scale $(SCALE) --part
endif

bench: setup  ## measure clusterbench itself; some parts of it: ONLY="throughput own_time"
	$(bin)/clusterbench bench $(if $(ONLY),--only $(ONLY))

quick: setup  ## lint, types, and the tests that need no server: two minutes, for the person who edits
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint types pure

pure: setup
	$(bin)/python -m pytest -q -n 2 -m "not lab"

# The types are checked beside the tests, as that keeps one processor busy for a minute and the other idle.
test: setup  ## lint, types, and the tests, with real servers; what takes minutes a test: make test-long
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint fetch
	@$(MAKE) --no-print-directory --jobs=2 types tests

# The second command is given its files, as looking through all takes half a minute.
tests:
	$(bin)/python -m pytest -n $(workers) -m "not alone and not long" --durations=25
	$(bin)/python -m pytest -m alone --durations=5 $(shell grep -rl 'mark\.alone' tests)

test-long: setup  ## the tests that take minutes each: all of them, or a share: SHARE=2/5
	-@$(bin)/clusterbench lab fetch --hypervisor
	$(bin)/python -m pytest -n $(workers) -m long --share $(or $(SHARE),1/1) --durations=0

test-engine: setup  ## what any engine must do, on a cluster of yours: PLATFORM=file.yaml
	@[ -e "$(PLATFORM)" ] || { echo "name a platform's file: make test-engine PLATFORM=include/platforms/mine.yaml" >&2; exit 2; }
	CLUSTERBENCH_TEST_PLATFORM=$(abspath $(PLATFORM)) $(bin)/python -m pytest tests/integration/test_engine_contract.py

test-field: setup  ## every experiment's part, and every version of PostgreSQL, in the field: a cluster that is not kind
	$(bin)/python -m pytest -n 2 -m long tests/field --durations=0

test-compose: setup  ## all of it as containers, built and run for real; needs a Docker engine
	$(bin)/python -m pytest tests/compose --durations=0

chaos: setup fetch  ## kill, freeze and cut off every part of a run in every phase; hours: ONLY="archive" PATIENCE=1
	$(bin)/python -m clusterbench_lab.chaos --patience-minutes $(or $(PATIENCE),1) $(foreach word,$(ONLY),--only $(word))

compose-build:  ## build the images, and the base image where no registry can be reached
	@include/compose/secrets.sh
	@include/compose/base_image.sh
	$(compose) build

compose-up:  ## build and start everything as containers (docs/compose.md)
	include/compose/secrets.sh
	$(compose) up -d --build

compose-down:  ## stop and remove the containers; their data stays (with it: make compose-down VOLUMES=--volumes)
	$(compose) down $(VOLUMES)

lint: setup  ## style of the code, direction of imports, shell scripts, every YAML and SQL file, and the pages that are made
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	cd plugins && $(abspath $(bin))/lint-imports --no-logo --no-cache --config ../pyproject.toml
	shellcheck $(shell_scripts)
	$(bin)/clusterbench lint
	$(bin)/python -m clusterbench_docs --check

types: setup  ## mypy, strict
	$(bin)/mypy

docs: setup  ## the pages of docs/ as a site with search, in build/docs; nothing of it needs a network
	@$(bin)/python -m clusterbench_docs --check
	@$(bin)/python -m pytest -q --no-header -m "not lab" tests/test_docs.py tests/test_docs_blocks.py
	@$(bin)/sphinx-build -q -b html -W --keep-going -n -d build/doctrees docs build/docs
	@echo "docs: open file://$(abspath build/docs/index.html)"

pictures: setup  ## make the pictures of docs/pictures from the present code, with a headless chromium
	$(bin)/python -m tests.pictures

clean:  ## stop the lab and remove it with all its data
	@if [ -e "$(lab)/lab.json" ]; then $(bin)/python -m clusterbench_lab down; fi
	rm -rf "$(lab)" build .mypy_cache .ruff_cache .pytest_cache
