# What one needs: `make demo`, `make test`; for work on rdb itself also `make dev`, `make lint`.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: help dev demo demo-verbs test test-whole test-layer test-wheel test-distro test-corpus test-apps test-stress test-rdma test-rdma-live rdma-packages test-cluster test-mpi test-mpi4py test-oracles test-languages test-cpus test-faults test-walk test-live fuzz bench docs lint clean distclean debian

# The system's Python, not whichever is first on PATH: GDB's own is this one.
PYTHON ?= /usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .make
# libc6-dbg: the names of libc's own functions in stacks.  locales: a test makes one.
DEBIAN := python3 python3-venv gcc g++ make pkg-config gdb openmpi-bin libopenmpi-dev binutils git \
  mpich libmpich-dev gfortran \
  libc6-dbg liblz4-dev libibverbs-dev ibverbs-utils python3-pyverbs libsodium-dev librdmacm-dev rdmacm-utils \
  perftest ucx-utils libfabric-bin iproute2 locales
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# A runtime library path would be seen by recorded programs too.
unexport PYTHONPATH

help:
	@echo "make demo   set everything up, then record and rewind the heat demo"
	@echo "make demo-verbs  the same with RDMA writes that go astray"
	@echo "make test   set everything up, then run the tests, one variant of each"
	@echo "make test-whole  all variants of each test, and those that are slow"
	@echo "make test-layer L=server  the tests of one layer, a folder of tests/"
	@echo "make test-wheel   what pip builds, installed alone, records and replays a program"
	@echo "make test-distro  make demo and make test on another system (DISTRO=trixie; installs debootstrap)"
	@echo "make test-cpus  the arithmetic of replicas on processors that qemu emulates (installs it)"
	@echo "make test-corpus  record and replay some sixty programs of Debian (installs them)"
	@echo "make test-apps  record and replay applications under MPI: LAMMPS, HPCC, hypre (installs them)"
	@echo "make test-stress  record and replay each stressor of stress-ng (installs it; an hour)"
	@echo "make test-rdma  verbs on soft-RoCE, in virtual machines with Debian's kernel (installs qemu)"
	@echo "make test-rdma-live  jobs that go on between soft-RoCE and the software HCA, on several hosts"
	@echo "make test-live  restarts at LIVE (default: 50) random events of each job"
	@echo "make test-cluster  jobs on several hosts, by ssh and under Slurm (installs both)"
	@echo "make test-mpi   each family of MPI functions with 2, 3 and 4 ranks; programs of PyPI's MPIs"
	@echo "make test-mpi4py  mpi4py's own tests, native and recorded, side by side (installs it)"
	@echo "make test-faults  more kills, each byte of a recording cut and flipped (minutes)"
	@echo "make test-oracles  bisect and deadlock against oracles, on 10,000 programs; origin and checkpoints in all variants (long)"
	@echo "make test-languages  bisect in eight languages, twelve compilers, many ways to compile (installs them)"
	@echo "make test-walk  random walks back and forth, WALK times as many (default: 10) as in make test, elsewhere each time"
	@echo "make fuzz   logs and images that are garbage, for FUZZ_SECONDS (default: 60) each"
	@echo "make test-page  the page of rdb timeline in a headless browser (installs chromium)"
	@echo "make test-orders  50 recordings of a job whose failure depends on the order of messages"
	@echo "make picture  draw the picture in README.md anew, from a session with demos/heat"
	@echo "make bench  measure overheads and response times (make bench ARGS=--json)"
	@echo "make bench-peers DMTCP=FOLDER  pauses, restarts and images beside DMTCP's"
	@echo "make dev    set everything up: Debian packages, .venv, build"
	@echo "make lint   ruff, mypy, layers of the C core, what is x86-64's, clang-format, clang-tidy"
	@echo "make docs   the documents as a site, in build/docs/site"
	@echo "make clean  remove what was built; make distclean removes .venv too"

dev: $(STAMPS)/debian $(STAMPS)/venv build/build.ninja rdb/_lib
	@PATH="$$(pwd)/$(BIN):$$PATH" $(BIN)/ninja -C build --quiet
	@cmp -s build/interposer/rdb $(BIN)/rdb || install build/interposer/rdb $(BIN)/rdb

debian: $(STAMPS)/debian

$(STAMPS)/debian-corpus: tests/corpus/programs.py
$(STAMPS)/debian-rdma: tests/vm/__init__.py
$(STAMPS)/debian-cluster: tests/cluster/__init__.py
$(STAMPS)/debian-apps: tests/apps/__init__.py
$(STAMPS)/debian-stress: tests/stress/__init__.py
$(STAMPS)/debian-languages: tests/languages/__init__.py
$(STAMPS)/debian $(STAMPS)/debian-corpus $(STAMPS)/debian-rdma $(STAMPS)/debian-cluster $(STAMPS)/debian-cpus $(STAMPS)/debian-mpi4py $(STAMPS)/debian-apps $(STAMPS)/debian-stress $(STAMPS)/debian-languages $(STAMPS)/debian-lint: Makefile
	@mkdir -p $(STAMPS)
	@missing=(); for p in $(DEBIAN); do \
	  dpkg-query -W -f='$${Status}' "$$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$$p"); \
	done; \
	if [ "$${#missing[@]}" -eq 0 ]; then echo "Debian packages: all there"; else \
	  echo "Debian packages to install: $${missing[*]}"; \
	  if [ -n "$(SUDO)" ] && ! command -v sudo > /dev/null; then \
	    echo "there is no sudo here; as root: apt-get install $${missing[*]}" >&2; exit 1; \
	  fi; \
	  $(SUDO) apt-get update -q; \
	  $(SUDO) env DEBIAN_FRONTEND=noninteractive \
	    apt-get install -q -y --no-install-recommends "$${missing[@]}"; \
	fi
	@touch $@

# The virtual environment sees the source tree through a .pth, so nothing is installed twice.
$(STAMPS)/venv: pyproject.toml tools/requirements.py $(STAMPS)/debian
	@[ -x $(BIN)/python3 ] || { echo "virtual environment: $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@$(BIN)/python3 tools/requirements.py > $(STAMPS)/requirements.txt
	@echo "Python packages into $(VENV):" $$(cut -d'>' -f1 $(STAMPS)/requirements.txt | cut -d'=' -f1)
	@$(BIN)/python3 -m pip install --quiet --disable-pip-version-check -r $(STAMPS)/requirements.txt
	@pwd > $$($(BIN)/python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/rdb-source.pth
	@printf '#!%s\nimport sys\n\nfrom rdb.cli import main\n\nsys.exit(main())\n' \
	  "$$(pwd)/$(BIN)/python3" > $(BIN)/rdb-python
	@chmod +x $(BIN)/rdb-python
	@touch $@

# Warnings are errors in CI only: the next compiler has others.
build/build.ninja: | $(STAMPS)/venv
	@echo "building into build/"
	@PATH="$$(pwd)/$(BIN):$$PATH" $(BIN)/meson setup $(if $(CI),--werror) build > build.log 2>&1 || { cat build.log; rm build.log; exit 1; }
	@mv build.log build/setup.log

rdb/_lib:
	@ln -sfn ../build/interposer $@

demo: dev
	@$(BIN)/python3 -m demos.heat.demo

demo-verbs: dev
	@$(BIN)/python3 -m demos.credits.demo

# Twice as many files of tests at a time as processors: much of a test is waiting.  ARGS=-n0 runs one
# after the other.
PYTEST := $(BIN)/python3 -m pytest -q -n $$((2 * $$(nproc))) --dist loadfile
# pytest's closing line is the last one; its exit code is ours.
test: dev
	@RDB_TEST_SAMPLE=1 $(PYTEST) $(ARGS)

# With all variants of each test, and those that are slow.
test-whole: dev
	@$(PYTEST) $(ARGS)

# A folder of tests/ without a suite of its own.
LAYERS := $(filter-out $(patsubst tests/%/,%,$(dir $(wildcard tests/*/__init__.py))), \
  $(sort $(patsubst tests/%/,%,$(dir $(wildcard tests/*/test_*.py)))))
test-layer: dev
	@[ -n "$(filter $(LAYERS),$(L))" ] || { echo "make test-layer L=FOLDER, one of: $(LAYERS)" >&2; exit 2; }
	@$(PYTEST) tests/$(L) $(ARGS)

# What `pip wheel .` builds, installed beside nothing else: records a program, replays it, and builds for an MPI.
test-wheel: dev
	@rm -rf build/wheel && mkdir -p build/wheel
	@$(BIN)/python3 -m pip wheel --quiet --disable-pip-version-check --no-deps -w build/wheel .
	@$(PYTHON) -m venv build/wheel/venv
	@build/wheel/venv/bin/pip install --quiet --disable-pip-version-check build/wheel/rdb-*.whl
	@cd build/wheel && export RDB_HOME=$$PWD/home && venv/bin/rdb run --name wheel -- /bin/true && \
	  venv/bin/rdb replay wheel --verify && venv/bin/rdb setup-mpi --mpicc mpicc.mpich --name site

# The README's two commands in a fresh clone on another system: a root directory of its own.
DISTRO ?= trixie
test-distro:
	@$(SUDO) tools/distro $(DISTRO) "$$PWD" $(ARGS)

# Processors of Intel and AMD; qemu is needed for nothing else.
test-cpus: dev
	@$(MAKE) -s $(STAMPS)/debian-cpus DEBIAN="qemu-user"
	@$(BIN)/python3 -m pytest -q -m cpus tests/crossing/test_processors.py $(ARGS)

# All of tests/corpus; `make test` runs its sample.  The programs are needed for nothing else.
test-corpus: dev
	@packages="$$(cd tests && ../$(BIN)/python3 -m corpus)"; \
	$(MAKE) -s $(STAMPS)/debian-corpus DEBIAN="$$packages"
	@$(BIN)/python3 -m pytest -q -m corpus tests/corpus $(ARGS)

# Applications under MPI, which are needed for nothing else.
test-apps: dev
	@packages="$$(cd tests && ../$(BIN)/python3 -m apps)"; \
	$(MAKE) -s $(STAMPS)/debian-apps DEBIAN="$$packages"
	@$(BIN)/python3 -m pytest -q -m apps tests/apps $(ARGS)

# Programs that use the kernel in all ways: stress-ng, which is needed for nothing else.
test-stress: dev
	@packages="$$(cd tests && ../$(BIN)/python3 -m stress)"; \
	$(MAKE) -s $(STAMPS)/debian-stress DEBIAN="$$packages"
	@$(BIN)/python3 -m pytest -q -m stress tests/stress $(ARGS)

# Languages and compilers, which are needed for nothing else.  RDB_TEST_LANGUAGES=all: every combination of ways.
test-languages: dev
	@packages="$$(cd tests && PYTHONPATH=kit ../$(BIN)/python3 -m languages)"; \
	$(MAKE) -s $(STAMPS)/debian-languages DEBIAN="$$packages"
	@$(BIN)/python3 -m pytest -q -n 2 -m languages tests/languages $(ARGS)

# Real kernel verbs, in machines that qemu emulates: Debian's kernel is fetched once, never installed.
rdma-packages: dev
	@packages="$$(cd tests && ../$(BIN)/python3 -m vm packages)"; \
	$(MAKE) -s $(STAMPS)/debian-rdma DEBIAN="$$packages"

test-rdma: rdma-packages
	@RDB_TEST_RDMA=must $(BIN)/python3 -m pytest -q -m rdma tests/vm tests/verbs/test_rdmacm.py --ignore=tests/vm/test_live.py $(ARGS)

# Restarts between soft-RoCE and the software HCA, on hosts in network namespaces.
test-rdma-live: rdma-packages
	@packages="$$(cd tests && ../$(BIN)/python3 -m cluster packages)"; \
	$(MAKE) -s $(STAMPS)/debian-cluster DEBIAN="$$packages"
	@RDB_TEST_RDMA=must $(BIN)/python3 -m pytest -q -m rdma tests/vm/test_live.py $(ARGS)

# Several hosts in network namespaces, with ssh and with Slurm.
test-cluster: dev
	@packages="$$(cd tests && ../$(BIN)/python3 -m cluster packages)"; \
	$(MAKE) -s $(STAMPS)/debian-cluster DEBIAN="$$packages"
	@$(BIN)/python3 -m pip install --quiet --disable-pip-version-check \
	  "$$($(BIN)/python3 tools/requirements.py dask)"
	@RDB_TEST_CLUSTER=must $(BIN)/python3 -m pytest -q -m cluster tests/cluster $(ARGS)

# Each family of MPI functions with 2, 3 and 4 ranks.
test-mpi: dev
	@RDB_TEST_MPI=all $(BIN)/python3 -m pytest -q tests/mpi/test_mpi.py \
	  tests/mpi/test_mpi_{families,coverage,threads,rma,io}.py tests/mpi/test_asking.py \
	  tests/recording/test_deadlock_kinds.py $(ARGS)
	@$(BIN)/python3 -m pytest -q -m mpi tests/wheels $(ARGS)

# mpi4py's own tests, whose source distribution is fetched: native and recorded, side by side.
test-mpi4py: dev
	@$(MAKE) -s $(STAMPS)/debian-mpi4py DEBIAN="python3-mpi4py"
	@$(BIN)/python3 tests/mpi/mpi4py_suite.py $(ARGS)

# Answers against oracles, on ten thousand generated programs; and what takes long with all its variants.
test-oracles: dev
	@RDB_TEST_ORACLES=$${RDB_TEST_ORACLES:-10000} $(BIN)/python3 -m pytest -q -n 2 \
	  $(shell grep -l RDB_TEST_ORACLES tests/*/test_*.py) $(ARGS)

# The tests of faults with everything: 200 kills, every byte of a log and an image cut and flipped, bytes flipped at
# 600 random places of whole jobs.
test-faults: dev
	@RDB_TEST_FAULTS=all $(BIN)/python3 -m pytest -q tests/record/test_faults{,_many}.py \
	  tests/replay/test_{faults_torn,damaged_anywhere}.py $(ARGS)

# Restarts of MPI jobs at many more events than in `make test`.
LIVE ?= 50
test-live: dev
	@RDB_TEST_LIVE=$(LIVE) $(BIN)/python3 -m pytest -q -rP tests/restart/test_restart.py \
	  tests/restart/test_restart_{sockets,threads,tree_sockets,tree_events}.py \
	  tests/mpi/test_restart_{mpi,mpi_4,mpi_mixture,io,spawn}.py tests/mpi/live_helpers.py \
	  tests/verbs/test_restart_{verbs,pingpongs}.py tests/coordinate/live_coordinated.py $(ARGS)

# The walks of `make test` are the same each time; these are not.
WALK ?= 10
test-walk: dev
	@RDB_TEST_WALK=$(WALK) $(BIN)/python3 -m pytest -q -rP tests/timeline/test_state_machine.py tests/gdb/test_gdb_walk.py \
	  $(shell grep -l '@given' tests/*/test_*.py) $(ARGS)

# Readers and parsers under garbage; guided by coverage where clang is installed.
FUZZ_SECONDS ?= 60
fuzz: dev
	@RDB_FUZZ_SECONDS=$(FUZZ_SECONDS) RDB_FUZZ_SEED=$$$$ $(BIN)/python3 -m pytest -q -rP tests/recording/test_fuzz.py $(ARGS)

.PHONY: test-page test-orders
# A browser is needed for nothing else.
test-page: dev
	@dpkg-query -W -f='$${Status}' chromium 2>/dev/null | grep -q 'ok installed' || { \
	  $(SUDO) apt-get update -q; \
	  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium; \
	}
	@RDB_TEST_PAGE=must $(BIN)/python3 -m pytest -q -m page tests/page $(ARGS)

# As in `make test`, which makes five of them.
test-orders: dev
	@RDB_TEST_ORDERS=50 $(BIN)/python3 -m pytest -q tests/mpi/test_orders.py $(ARGS)

.PHONY: picture bench-peers
picture: dev
	@$(BIN)/python3 -m tools.picture

bench: dev
	@$(BIN)/python3 -m bench $(ARGS)

# Beside DMTCP: DMTCP=FOLDER is a built one.
bench-peers: dev
	@DMTCP="$(DMTCP)" $(BIN)/python3 -m bench --only peers $(ARGS)

# What clang-format makes of a line depends on its version: that of Debian 12, 14, is the project's.
lint: dev
	@$(MAKE) -s $(STAMPS)/debian-lint DEBIAN="clang-format"
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/mypy --strict rdb bench gdb_scripts/rdb_gdb
	$(BIN)/vermin --quiet --target=3.9- --violations gdb_scripts  # GDB's Python may be older than ours
	$(BIN)/python3 -m tools.layers
	$(BIN)/python3 -m tools.machine
	git ls-files 'interposer/*.[ch]' 'demos/*.[ch]' | xargs clang-format --dry-run -Werror
	git ls-files 'interposer/*.c' | xargs -P 2 -n 20 $(BIN)/clang-tidy --quiet -p build --extra-arg=-w 2> build/clang-tidy.log

# The documents as a site, each link and anchor checked.
docs: $(STAMPS)/venv
	@$(BIN)/python3 -m pip install --quiet --disable-pip-version-check \
	  "$$($(BIN)/python3 tools/requirements.py docs)"
	@rm -rf build/docs && mkdir -p build/docs/source
	@git ls-files '*.md' 'docs/*.svg' | xargs cp --parents -t build/docs/source
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -f tools/site.yml > build/docs/log 2>&1 || \
	  { cat build/docs/log; exit 1; }
	@echo "build/docs/site/index.html"

clean:
	rm -rf build rdb/_lib .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find rdb gdb_scripts tests -name __pycache__ -type d -prune -exec rm -rf {} +
	@for demo in demos/heat demos/credits; do $(MAKE) -s -C $$demo clean; done

distclean: clean
	rm -rf .venv .make
