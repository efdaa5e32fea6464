# Everything that is done to this repository. `make test` is all of the checks.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

GO       ?= go
SEEDS    ?= 4000 # histories of the simulation of two nodes
FUZZTIME ?= 5s   # for each fuzz target: a time, or a number like 3000x
RACETIME ?= 30m  # limit of the tests of one package with -race

# The toolchain that go.mod names, whose library has the fixes that releases have.
export GOTOOLCHAIN ?= auto

# The linter is fetched and built by Go itself, at this version.
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

.PHONY: test
test: packages check ## all of it: checks, tests on both databases, simulation, fuzzing
	@trap '.ci/postgres stop' EXIT; \
	database=$$(.ci/postgres start); eval "$$database"; \
	export AGENTLINK_REQUIRE_POSTGRES=1 AGENTLINK_REQUIRE_CHROMIUM=1 AGENTLINK_REQUIRE_NODE=1; \
	$(MAKE) race; \
	$(MAKE) browser; \
	$(MAKE) oracle; \
	$(MAKE) uses; \
	$(MAKE) proposals; \
	$(MAKE) sim; \
	$(MAKE) durability; \
	$(MAKE) hostile; \
	$(MAKE) fuzz FUZZTIME=30s; \
	$(MAKE) compose

.PHONY: packages
packages: ## install what the tests need: Debian packages, and MCP clients of others from npm
	@.ci/packages
	@.ci/npm

.PHONY: check
check: format vet generated lint vulnerabilities ## what can be said without running anything

.PHONY: format
format:
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted (gofmt -w):"; echo "$$unformatted"; exit 1; fi

.PHONY: vet
vet:
	$(GO) vet ./...

.PHONY: lint
lint: ## golangci-lint with .golangci.yml
	$(GO) run $(GOLANGCI) run --allow-parallel-runners --timeout 20m ./...

.PHONY: vulnerabilities
vulnerabilities: ## known weaknesses of the modules and of Go; .ci/vulnerabilities latest asks for the newest list
	.ci/vulnerabilities

.PHONY: generate
generate: ## write what is generated anew
	$(GO) generate ./...

.PHONY: generated
generated: ## fail where what is generated is not what is committed
	@state() { git status --porcelain -uall; git ls-files -com --exclude-standard -z | sort -zu | xargs -0r sha256sum 2>/dev/null || true; }; \
	before=$$(state); $(GO) generate ./...; after=$$(state); \
	if [ "$$before" != "$$after" ]; then echo "not what 'make generate' writes:"; diff <(echo "$$before") <(echo "$$after") || exit 1; fi

.PHONY: race
race: ## the Go and Rego tests with the race detector, on SQLite and where one is given on PostgreSQL
	$(GO) test -race -timeout $(strip $(RACETIME)) $$($(GO) list ./... | grep -vE '/(browsertest|durability|hostile)$$')

.PHONY: browser
browser: ## the dashboard of real nodes in a real browser; -update in its folder takes the pictures anew
	$(GO) test -timeout 15m ./dashboard/browsertest

.PHONY: oracle
oracle: ## the rules against an independent oracle, without the race detector, in full
	$(GO) test -count=1 -timeout 15m ./policy/...

.PHONY: uses
uses: ## one approval, used 1,000 times at once over two replicas, 200 times
	AGENTLINK_ROUNDS=200 $(GO) test -count=1 -timeout 30m -run '^TestRunOnce(OfTwo)?$$' ./actions

.PHONY: proposals
proposals: ## 100,000 random proposals past a reader at the other end of the wire
	AGENTLINK_PROPOSALS=100000 $(GO) test -count=1 -timeout 30m -run '^TestProposals' ./node/simulation

.PHONY: sim
sim: ## two nodes under drops, duplicates, reordering and crashes: make sim SEEDS=20000
	AGENTLINK_SIM_SEEDS=$(strip $(SEEDS)) $(GO) test -count=1 -timeout 60m -run '^TestSimulation' ./node/simulation

.PHONY: durability
durability: ## failing database calls, kill -9, two replicas, a database that crashes, a full disk
	$(GO) test -count=1 -parallel 4 -timeout 15m ./node/durability

.PHONY: hostile
hostile: ## peers and networks that want a node ill: faults, bombs, half-open connections, bad messages
	$(GO) test -count=1 -timeout 15m ./node/hostile

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME
	@grep -rlE '^func Fuzz' --include='*_test.go' . | sort | while read -r file; do \
		for target in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$$file"); do \
			echo "$$(dirname "$$file") $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(strip $(FUZZTIME)) "$$(dirname "$$file")" </dev/null; \
		done; \
	done

.PHONY: compose
compose: ## docker-compose.yml through compose's own loader
	cd node/composetest && $(GO) test -count=1 ./...

.PHONY: bench
bench: ## the figures beside their floors, in one table; writes bench.json (about 20 minutes)
	$(GO) test -count=1 -v -timeout 180m -run '^TestBench$$' ./node/bench -args -full -json "$(CURDIR)/bench.json"

.PHONY: bench-waiters
bench-waiters: ## 5,000 agents that wait; writes bench-waiters.json
	$(GO) test -count=1 -v -timeout 60m -run '^TestBench$$' ./node/bench -args -full -only waiters -json "$(CURDIR)/bench-waiters.json"

.PHONY: mutation
mutation: ## whether a changed line of the rules is noticed by a test (many hours)
	for package in approvals policy policy/engine coordination/wire coordination; do .ci/mutation $$package; done
	.ci/mutation-score

.PHONY: demo
demo: ## two nodes settle a dinner in this terminal
	$(GO) run ./node/cmd/agentlink demo

.PHONY: build
build: ## bin/agentlink, static and stripped
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o bin/agentlink ./node/cmd/agentlink
