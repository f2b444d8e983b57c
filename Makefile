# Targets for people. Everything needs Go and nothing else.

SHELL := bash
.SHELLFLAGS := -eo pipefail -c

TOOL := go tool -modfile=tools/protogen/go.mod

# Arithmetic that other people wrote, which shares nothing between threads. The race detector leaves
# it out: it would take more than half of the time of the tests that encrypt.
UNWATCHED := math filippo.io/age/internal/bech32 \
	$(addprefix crypto/internal/fips140/,bigmod edwards25519 edwards25519/field hmac mlkem nistec sha3) \
	$(addprefix golang.org/x/crypto/,chacha20 internal/poly1305 scrypt)

# The race detector needs a C compiler.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race $(UNWATCHED:%=-gcflags=%=-race=false))

.PHONY: test-python test-r test-browser build cuda generate ptx test-emulator test-cuda test-gpu demo pages demo-network network load upgrade man dist test evidence fuzz audit chaos chaos-plants chaos-processes evil lint deadcode fmt bench bench-gpu experiments clean

build: ## the programs, in bin/
	go build -trimpath -o bin/ ./cmd/...

# Programs that can use a GPU need a C compiler, but no CUDA toolkit: gorgonia.org/cu reads the
# declarations in gpu/cuda/driver/include.
CUDA = CGO_CFLAGS="$(shell go env CGO_CFLAGS) -I$(CURDIR)/gpu/cuda/driver/include" CGO_LDFLAGS="$(shell go env CGO_LDFLAGS) -L$(CURDIR)/gpu/cuda/driver/lib"

cuda: ## the programs, in bin/, that use a GPU where there is one
	$(CUDA) go build -trimpath -tags cuda -o bin/ ./cmd/...

generate: ## the code of the wire protocol, from its proto file; no network
	go run -C tools/protogen . ../../transport/internal/wirepb fedpvi.proto

# The same clang makes the same PTX. No toolkit: kernels declare what they need of CUDA.
CLANG := clang-19
PTXFLAGS := -x cuda -std=c++17 --cuda-device-only --cuda-gpu-arch=sm_75 -nocudainc -nocudalib -Xclang -target-feature -Xclang +ptx70 -ffp-contract=off -O3 -S -o -

ptx: ## the kernels' code for graphics cards, from their sources; Debian's package clang-19
	cd gpu/cuda/kernel && { echo "// Made by make ptx of sources with the SHA-256 $$(cat *.cu *.h | sha256sum | cut -d ' ' -f 1)"; $(CLANG) $(PTXFLAGS) kernels.cu; } > kernels.ptx.new
	mv gpu/cuda/kernel/kernels.ptx.new gpu/cuda/kernel/kernels.ptx

# A libcuda.so.1 that runs the kernels on a processor, for programs built with cuda.
EMULATED = bin/emulated
$(EMULATED)/libcuda.so.1: $(wildcard gpu/cuda/kernel/*.cu gpu/cuda/kernel/*.h gpu/cuda/emulator/*.h gpu/cuda/emulator/*.cc gpu/cuda/emulator/library/*.cc gpu/cuda/driver/include/*.h)
	@mkdir -p $(@D)
	g++ -std=c++17 -O2 -Wall -fno-exceptions -fno-rtti -shared -fPIC -Wl,-Bsymbolic -Igpu/cuda/driver/include -Igpu/cuda/emulator -o $@ gpu/cuda/emulator/*.cc gpu/cuda/emulator/library/*.cc

test-emulator: ## the kernels on an emulated device, and an audit of it; g++
	go test -tags emulator ./gpu/cuda/...
	go test -tags emulator -run Device ./sim/audit ./gpu/vae

test-cuda: test-emulator $(EMULATED)/libcuda.so.1 ## programs on an emulated device too, and what stands before a real one
	go test -tags emulator -run 'Device|TheTest' ./gpu/device ./pvi/solver ./pvi/fit ./sim ./sim/autoencoder ./client ./internal/speed
	go test -tags emulator -run Card ./sim/audit
	$(CUDA) go test -tags cuda ./gpu/cuda/driver
	$(CUDA) LD_LIBRARY_PATH="$(CURDIR)/$(EMULATED):$$LD_LIBRARY_PATH" go test -tags cuda ./gpu/cuda ./gpu/vae
	$(CUDA) FEDPVI_EMULATED="$(CURDIR)/$(EMULATED)" go test -tags cuda -run CUDA ./cmd/sim

test-browser: ## the pages in a Chromium, and with FEDPVI_AXE=axe.min.js their accessibility
	FEDPVI_BROWSER=$${FEDPVI_BROWSER:-chromium} go test -count 1 -run Browser ./pvi/page ./client/pages ./coordinator/pages

# The same tests on the first GPU of this machine.
test-gpu: ## the kernels on the GPU against the processor
	$(CUDA) go test -count 1 -v -tags cuda ./gpu/cuda ./gpu/vae

# The compiler keeps more of its memory until it ends, and takes a sixth less processor time.
demo: export GOGC = 400
demo: ## the main job on made-up data; builds the simulator alone
	go build -trimpath -o bin/ ./cmd/sim
	@rm -rf runs/demo
	bin/sim plan experiments/demo/blood-pressure.toml
	@echo
	bin/sim run experiments/demo/blood-pressure.toml --out runs/demo

# Data over a network: every schedule, both privacy units, linear, logistic, and a formula.
network: build ## studies on Abalone, Adult and made-up data, a process for each client
	go run ./tools/demonet experiments/abalone/rings.toml
	go run ./tools/demonet experiments/abalone/rings.toml --set 'inference.schedule="sequential"' --set 'inference.factors="exact"'
	go run ./tools/demonet experiments/abalone/rings.toml --set 'inference.schedule="asynchronous"' --set 'inference.factors="exact"'
	go run ./tools/demonet experiments/abalone/rings.toml --set privacy.unit=client
	go run ./tools/demonet experiments/abalone/mature.toml
	go run ./tools/demonet experiments/adult/income.toml
	go run ./tools/demonet experiments/demo/visits.toml
	go run ./tools/demonet experiments/programs/infections.toml
	go run ./tools/demonet experiments/programs/infections.toml --non-private
	go run ./tools/demonet experiments/adult/private.toml
	go run ./tools/demonet experiments/adult/private.toml --set 'inference.schedule="sequential"' --set inference.damping=1

pages: ## the commands of the example pages again, and their output into the pages
	go run ./tools/pages

demo-network: build ## federations of processes, killed half way and in each step of secure sums, and attacked
	go run ./tools/demonet
	go run ./tools/demonet evil

evil: build ## attacks by a coordinator and by clients, as real processes: found, named and stopped
	go run ./tools/demonet evil

# The build that an upgrade begins with.
FROM ?= 0bad6e1
upgrade: build ## a study that an earlier build begins and this one ends: make upgrade FROM=COMMIT
	@rm -rf runs/earlier && git worktree prune
	git worktree add -q --detach runs/earlier $(FROM)
	cd runs/earlier && go build -trimpath -o bin/ ./cmd/coordinator ./cmd/client
	go run ./tools/demonet upgrade runs/earlier/bin; status=$$?; git worktree remove --force runs/earlier; exit $$status

man: build ## the manual pages, in man/, from the help of the programs
	mkdir -p man
	for p in client coordinator sim; do bin/$$p man > man/$$p.1; done

# A private SSH key that signs the sums: make dist SIGN=~/.ssh/id_ed25519
SIGN ?=
dist: ## a release of the newest commit: programs, images, bills of materials, provenance and sums, in dist/
	go run ./tools/dist $(if $(SIGN),-sign $(SIGN))

load: build ## a thousand light clients against a coordinator, 12,000 connections that wait, a soak
	go run ./tools/load rounds
	go run ./tools/load rounds --clients 10 --coefficients 1000000 --rounds 2
	go run ./tools/load idle --connections 4 --studies 3
	go run ./tools/load soak --clients 100 --lasts $(SOAK)

# How long the soak is.
SOAK ?= 10m

# The contribution of a record must not depend on its position, also on processors that fuse
# products and sums.
FUSED := $(if $(shell grep -m 1 -w avx2 /proc/cpuinfo 2>/dev/null | grep -w fma),GOAMD64=v3)

# Packages that run in one thread: arithmetic, and programs whose parts have tests of their own.
ALONE := /(accountant|crypto/(internal/wire|identity|invitation|keyfile|roster|seal|secret|signed|sums(/.*)?|transcript)|dpmech(/internal/stream)?|gpu/(cuda/kernel|device)|internal/(cli|document|durable|math32|private|prose|quadrature|special|speed|table/origin|testing/(canary|memory|policy))|pvi(/.*)?|sim/(audit|autoencoder|baseline|calculator|chain|draft|report|truth|tune)|cmd/sim|tools/(dist|plant/overlay))$$

# Files with tests that are shorter under the race detector, and an awk program that prints the
# names of these tests. They call testing.Short, or a function that calls it.
SHORTENED = $(shell grep -ls -F 'testing.Short()' $$(go list -f '{{.Dir}}' ./... | grep -vE '$(ALONE)' | sed 's#^$(CURDIR)\(.*\)#.\1/*_test.go#'))
define SHORTENS
/^func /{f=$$0; sub(/^func (\([^)]*\) )?/,"",f); sub(/[([].*/,"",f)}
/testing\.Short\(\)/{short[f]=1}
!/^func /{calls[f]=calls[f] $$0}
END{
	do {more=0; for (f in calls) for (s in short) if (!(f in short) && match(calls[f],"[^A-Za-z0-9_]" s "\\(")) {short[f]=1; more=1}} while (more)
	for (f in short) if (f ~ /^Test/) print f
}
endef
export SHORTENS

# Tests write and sync thousands of small files. They do so in memory, on a machine that has room.
MEMORY := $(shell df --output=avail /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 > 6000000 {print "TMPDIR=/dev/shm"}')

# The target test calls vet once, before the tests. Otherwise vet would read the code again for the race
# detector. Nobody debugs the binaries of tests. Without symbols for a debugger the linker is up to a
# third faster.
GOTEST := go test -vet=off -ldflags=-w

# The packages of one thread that take longest begin first, so that no core is left without work.
LONGEST := ./sim/audit ./cmd/sim ./accountant ./pvi/scoring

# Tests keep little of the memory that they allocate, so the garbage collector may run rarely.
test: export GOGC = 400
test: export GOMEMLIMIT = 2GiB

# Packages with several threads run under the race detector. Packages with one thread, and the
# tests that are shorter under the race detector, then run in full without it.
test: ## all tests, what is shared under the race detector, and short fuzzing of an eighth
	go vet ./...
	$(MEMORY) $(GOTEST) $(RACE) -short $$(go list ./... | grep -vE '$(ALONE)')
	$(MEMORY) $(GOTEST) $(RACE) -short -run 'Filter|ByTheTransform|Charges|Mixtures|Accumulator|Release|Layers|Stream' ./accountant ./dpmech
	$(MEMORY) $(GOTEST) $$(go list $(LONGEST) ./... | awk '!seen[$$0]++' | grep -E '$(ALONE)')
	$(MEMORY) $(GOTEST) -run "^($$(awk "$$SHORTENS" $(wildcard $(addsuffix *_test.go,$(sort $(dir $(SHORTENED))))) | sort -u | paste -sd '|'))$$" $(sort $(dir $(SHORTENED)))
	$(FUSED) $(GOTEST) -run 'DependsOnNoPlace' ./gpu ./gpu/vae ./internal/math32
	$(if $(shell command -v g++),$(MAKE) --no-print-directory test-emulator)
	$(MAKE) fuzz FUZZTIME=1s PARTS=8 PART=$$(git rev-list --count HEAD 2>/dev/null || echo 0)

# A Python that can make a virtual environment. The package is built as a user would install it.
test-python: ## the Python package, in a new virtual environment; needs Python and a package index
	@rm -rf bin/python && python3 -m venv bin/python
	bin/python/bin/pip install -q "./python[test]"
	cd python && MPLBACKEND=agg ../bin/python/bin/python -m pytest -q

test-r: build ## the R package, by R CMD check; Debian's r-base-core, r-cran-jsonlite, r-cran-posterior and r-cran-testthat
	@mkdir -p bin/r
	cd bin/r && R CMD build ../../r/fedpvi && FEDPVI_BIN="$(CURDIR)/bin" FEDPVI_STUDIES="$(CURDIR)/experiments" _R_CHECK_FORCE_SUGGESTS_=false R CMD check --no-manual fedpvi_*.tar.gz
	@! grep -E 'WARNING|NOTE|ERROR' bin/r/fedpvi.Rcheck/00check.log

# Packages with tests that do more if FEDPVI_LONG is set.
LONG = $(sort $(dir $(shell grep -rl --include='*_test.go' FEDPVI_LONG .)))
evidence: ## all tests in their long versions, and a tenth of the bank: hours
	go test -timeout 1h -v -run 'Statistics|Tails' ./dpmech -draws 10000000
	FEDPVI_LONG=1 go test -p 1 -timeout 6h -v $(LONG)
	go run ./tools/demonet outcomes all
	go run ./cmd/sim truth --cells '1-73,records<=20000,coefficients<=30' --replications 4 --out runs/truth-tenth.jsonl

# All fuzz targets: make fuzz FUZZTIME=10m. Some of them: make fuzz FUZZTIME=30m PKG=./transport
# TARGET=Release. The engine sometimes reports its own deadline as an error without a failing
# input. Then it runs again.
FUZZTIME ?= 1m
PKG ?= .
TARGET ?=
# One of PARTS parts of the targets: tests fuzz another part at every commit.
PARTS ?= 1
PART ?= 0
define FUZZ
for try in 1 2 3; do
  out=$$(go test -vet=off -run '^$$' -fuzz "^$$2$$" -parallel 1 -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$1 2>&1 < /dev/null) && { echo "$$1 $$2: $$(tail -n 1 <<< "$$out")"; exit 0; }
  if grep -q 'Failing input' <<< "$$out" || ! grep -q 'context deadline exceeded' <<< "$$out"; then break; fi
done
echo "$$1 $$2"; echo "$$out"; exit 255
endef
export FUZZ
fuzz: ## every fuzz target, as many at a time as there are cores
	@grep -rn --include='*_test.go' -o '^func Fuzz[A-Za-z0-9]*$(TARGET)[A-Za-z0-9]*' $(PKG) | sed -E 's#/[^/]*:[0-9]+:func # #' | sort | awk 'NR % $(PARTS) == $(PART) % $(PARTS)' | xargs -P $$(nproc) -n 2 bash -c "$$FUZZ" fuzz

audit: ## the program attacks itself, as it is and with planted faults
	go run ./tools/demonet outcomes
	go run ./tools/plant

# Simulated federations with faults: docs/develop/chaos.md. The message of a failure has the SEED
# and the KEEP that repeat it.
RUNS ?= 10000
SEED ?= 1
KEEP ?=
chaos: ## simulated worlds with faults: make chaos RUNS=1000 SEED=7
	GOGC=400 go test ./internal/testing/chaos -count 1 -timeout 0 -run PromisesHold -runs $(RUNS) -seed $(SEED) $(if $(KEEP),-keep $(KEEP)) | grep -v '^ *--- FAIL: .*/seed'

chaos-plants: ## faults planted in the daemons, and the simulated worlds in which they are found
	go run ./tools/plant -tests -repeat 1
	go run ./tools/plant -worlds 1000

chaos-processes: RUNS = 200
chaos-processes: build ## 200 runs of real processes, killed, cut off and on full disks
	go run ./tools/demonet siege $(RUNS) $(SEED)

# Go files that are not generated.
SOURCES = $$(git ls-files '*.go' ':!*.pb.go')

lint: ## formatting, vet, staticcheck, dead code, generated code
	@unformatted=$$($(TOOL) gofumpt -l $(SOURCES)); test -z "$$unformatted" || { echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	for system in darwin windows; do CGO_ENABLED=0 GOOS=$$system go vet ./cmd/client ./internal/private ./internal/durable || exit 1; done
	$(if $(RACE),$(CUDA) go vet -tags cuda ./gpu/cuda/... ./gpu/device ./gpu/vae)
	$(if $(shell command -v g++),go vet -tags emulator ./gpu/cuda/... ./gpu/device ./gpu/vae ./pvi/solver ./sim ./sim/audit ./sim/autoencoder ./client ./internal/speed)
	$(TOOL) staticcheck ./...
	@$(MAKE) --no-print-directory deadcode
	go mod tidy -diff
	go mod -C tools/protogen tidy -diff
	@$(MAKE) --no-print-directory generate
	@git diff --exit-code --stat -- '*.pb.go' || { echo "generated code that is not what make generate makes: commit what it made"; exit 1; }

# Functions that no program reaches, in a build for the processor and in those for a GPU. Helpers
# of tests, packages that only planted faults import, a file that only the client of Windows needs, and
# functions for the programs of people who extend this module are left out.
UNREACHED := ^(internal/testing/|tools/plant/planted/|tools/demonet/seen/|internal/private/access.go:|sim/extend.go:|accountant/outcomes.go:)
BUILDS := none $(if $(RACE),emulator cuda)
deadcode: ## functions that no program reaches
	@deadcode=$$($(TOOL) -n deadcode); for tag in $(BUILDS); do \
		$(CUDA) $$deadcode -tags $$tag -f '{{range .Funcs}}{{.Position.File}}: {{.Name}}{{"\n"}}{{end}}' ./...; \
	done | sort | uniq -c | awk '$$1 == $(words $(BUILDS)) && $$2 !~ "$(UNREACHED)" {print $$2, "no program reaches", $$3; dead = 1} END {exit dead}'

fmt:
	$(TOOL) gofumpt -w $(SOURCES)

bench: ## benchmarks; figures are kept in docs/develop/benchmarks.md
	go test -run '^$$' -bench . -cpu 1 ./accountant ./dpmech ./pvi/... ./internal/special ./internal/math32 ./gpu ./sim ./transport
	go test -run '^$$' -bench . -cpu 2 ./sim/sweep
	go test -run '^$$' -bench . -benchtime 300x -cpu 2 ./gpu/vae

# PYTHON is one with JAX; BIN a folder with the programs, built already.
PYTHON ?= python3
BIN ?= bin
bench-gpu: ## this program beside JAX on the same machine: one table; needs built programs (make cuda) and a Python with JAX
	$(PYTHON) bench/d3p_jax.py $(BIN)/sim

experiments: build ## every sweep of experiments/, into runs/
	@for sweep in $$(grep -l '^\[sweep\]' experiments/*/*.toml); do bin/sim sweep $$sweep || exit 1; echo; done

clean:
	rm -rf bin dist runs
