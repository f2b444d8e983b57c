# Targets for people. Everything needs Go and nothing else.

SHELL := bash
.SHELLFLAGS := -eo pipefail -c

TOOL := go tool -modfile=tools/go.mod

# The race detector needs a C compiler.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

.PHONY: build demo test statistics fuzz audit lint fmt bench experiments clean

build: ## the programs, in bin/
	go build -trimpath -o bin/ ./cmd/...

demo: build ## the main job on made-up data
	@rm -rf runs/demo
	bin/sim plan experiments/demo/blood-pressure.toml
	@echo
	bin/sim run experiments/demo/blood-pressure.toml --out runs/demo

# The tables of accountant and the counts of dpmech are arithmetic of one thread, and
# long. The race detector sees what is shared there: filters, the memory of
# transforms, and the machines in short.
LONG := /accountant$$|/dpmech$$|/internal/plant$$
test: ## all tests, under the race detector, and short fuzzing
	go test $(RACE) $$(go list ./... | grep -vE '$(LONG)')
	go test $(RACE) -short -run 'Filter|ByTheTransform|Charges|Mixtures' ./accountant
	go test $(RACE) -short ./dpmech
	go test $$(go list ./... | grep -E '$(LONG)')
	$(MAKE) fuzz FUZZTIME=3s

statistics: ## χ², moments and tails of the noise over 10⁷ draws each
	go test -run 'Statistics|Tails' -timeout 1h -v ./dpmech -draws 10000000

# Every fuzz target for a while: make fuzz FUZZTIME=10m
FUZZTIME ?= 1m
fuzz:
	@for package in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$target"; \
	    go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$package | tail -n 1 || exit 1; \
	  done; \
	done

audit: ## the program attacks itself, as it is and with planted faults
	go run ./internal/plant

lint: ## formatting, vet, staticcheck
	@unformatted=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	$(TOOL) staticcheck ./...
	go mod tidy -diff

fmt:
	$(TOOL) gofumpt -w $$(git ls-files '*.go')

bench: ## benchmarks; figures are kept in docs/benchmarks.md
	go test -run '^$$$$' -bench . -cpu 1 ./accountant ./dpmech ./pvi/... ./internal/special ./gpu ./sim
	go test -run '^$$' -bench . -cpu 2 ./sim/sweep

experiments: build ## every sweep of experiments/, into runs/
	@for sweep in $$(grep -l '^\[sweep\]' experiments/*/*.toml); do bin/sim sweep $$sweep || exit 1; echo; done

clean:
	rm -rf bin runs
