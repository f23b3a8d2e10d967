# Kopf for Go. "make" lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help

MODULES   := . sdk sdk/leaderelection sdk/metrics examples devcluster/controlplane hack/kustomize sdk/internal/children/kstatus bench/peers/webapp
BIN       := $(CURDIR)/bin
GO        ?= go
GOLANGCI  := v2.15.0
VULNCHECK := v1.8.0
GORELEASER := v2.14.3
ACTIONLINT := v1.7.12
CYCLONEDX := v1.10.0
APIDIFF   := v0.0.0-20261113113407-e3970619a1a4
LDFLAGS   := -s -w
EXAMPLE   := examples/ephemeral-volume-claims

# Use the same flags everywhere: others would recompile everything, including Kubernetes.
TESTFLAGS ?= -race

# How long "make faults" and "make soak-shards" break things.
SOAK ?= 10m

# How many times "make faults" freezes a replica, or an operator in a peering, of each kind.
FREEZES ?= 100

# How long tests wait for a condition before they fail; enough for a busy machine.
export KOPFTEST_TIMEOUT ?= 2m

# How long a test kills an operator at points beyond the first of each class. Each example has such a test.
export KOPFTEST_CRASH_BUDGET ?= 5s

##@ Use

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build kopf into bin/
	@mkdir -p $(BIN)
	$(GO) build -ldflags="$(LDFLAGS)" -o $(BIN)/kopf ./cmd/kopf

.PHONY: dev
dev: build ## Run the tutorial's operator in the workbench: a cluster, an operator, an object
	@if [ -t 1 ]; then until=; else until=--until=settled; fi; \
	$(BIN)/kopf dev ./$(EXAMPLE) --apply $(EXAMPLE)/crd.yaml --apply $(EXAMPLE)/storage.yaml --apply $(EXAMPLE)/obj.yaml $$until

.PHONY: controlplane
controlplane: build ## Build the embedded control plane into the user's cache, unless it exists
	@$(BIN)/kopf cluster prepare >/dev/null

.PHONY: clean
clean: ## Remove bin/ and dist/
	rm -rf $(BIN) dist

##@ Check a change

.PHONY: quick
quick: ## Run the tests that need no control plane and compile no operators: after each change
	@hack/quick $(TESTFLAGS)

.PHONY: test
test: controlplane ## Run all tests, against the real control plane: before you propose a change
	@hack/test $(TESTFLAGS)

.PHONY: lint
lint: $(BIN)/golangci-lint-$(GOLANGCI) ## Check the code: linters, imports, formatting
	@for m in $(MODULES); do \
		echo "lint $$m"; \
		(cd $$m && case $$m in devcluster/controlplane | hack/kustomize | */kstatus | bench/peers/webapp) export GOWORK=off ;; esac; $< run ./...) || exit 1; \
	done
	@$(MAKE) --no-print-directory prose
	@$(GO) list -m all >/dev/null || { echo "the module graph is broken: run make tidy"; exit 1; }

.PHONY: prose
prose: ## Check the English of comments, messages and docs alone
	@echo "lint the English of comments, messages and docs"; $(GO) run ./hack/prose

$(BIN)/golangci-lint-$(GOLANGCI):
	@mkdir -p $(BIN)
	GOWORK=off GOBIN=$(BIN)/tmp $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	@mv $(BIN)/tmp/golangci-lint $@ && rmdir $(BIN)/tmp

.PHONY: api
api: ## Compare the API of the SDK with its newest release; NEXT=v1.2.3 names the next one, by default a minor release
	@hack/apidiff/run $(BIN)/apidiff-$(APIDIFF) $(NEXT)

.PHONY: golden
golden: ## Rewrite the golden files of the workbench, and the pictures and tables in docs/; review the diff before you commit
	$(GO) test ./tui -update
	$(GO) test ./docs -run Inspector -update

.PHONY: tidy
tidy: ## Tidy the go.mod files
	hack/tidy

##@ Look deeper

.PHONY: vectors
vectors: ## Run the vectors recorded with Kopf for Python; VECTORS=DIR runs others
	@hack/vectors

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (default: 30s); FUZZ="object Stream" runs those that contain any of these words
	@hack/fuzz $(FUZZ)

.PHONY: soak
soak: controlplane ## Break everything for 90 seconds, then crowd webhooks as long; KOPFTEST_SEED=N repeats a run
	cd sdk && KOPF_SOAK=90s $(GO) test $(TESTFLAGS) -count 1 -timeout 20m -v -run Soak ./internal/faults
	cd sdk && KOPF_SOAK=90s $(GO) test $(TESTFLAGS) -count 1 -timeout 20m -v -run Reviews ./internal/faults

.PHONY: faults
faults: controlplane ## Break everything for 10 minutes, crowd webhooks and disturb children as long, and report what it does to operators; SOAK=1m for less
	@mkdir -p bench/results
	cd sdk && KOPF_SOAK=$(SOAK) KOPF_SOAK_REPORT=$(CURDIR)/bench/results/soak.json \
		$(GO) test $(TESTFLAGS) -count 1 -timeout 60m -v -run 'Pattern|Soak' ./internal/faults
	cd sdk && KOPF_SOAK=$(SOAK) $(GO) test $(TESTFLAGS) -count 1 -timeout 60m -v -run Reviews ./internal/faults
	cd sdk && KOPF_SOAK=$(SOAK) $(GO) test $(TESTFLAGS) -count 1 -timeout 60m -v -run Children ./internal/faults
	cd sdk/leaderelection && KOPF_FREEZES=$(FREEZES) $(GO) test $(TESTFLAGS) -count 1 -timeout 60m -v -run Freeze .
	cd sdk && KOPF_FREEZES=$(FREEZES) $(GO) test $(TESTFLAGS) -count 1 -timeout 60m -v -run Frozen ./peering

.PHONY: plan-truth
plan-truth: controlplane ## Compare the plans for all examples with the operators in a cluster; it needs user namespaces
	KOPF_PLAN_TRUTH=1 $(GO) test $(TESTFLAGS) -count 1 -timeout 60m -v -run PlanIsTheTruth ./cmd/kopf

.PHONY: soak-shards
soak-shards: controlplane ## Kill and add replicas that share 2,000 objects, for 10 minutes; SOAK=5m for less
	@mkdir -p bench/results
	cd sdk && KOPF_SOAK=$(SOAK) KOPF_SOAK_REPORT=$(CURDIR)/bench/results/shards-soak.json \
		$(GO) test $(TESTFLAGS) -count 1 -timeout 60m -v -run Shards_Soak ./internal/e2e

.PHONY: e2e-k3d
e2e-k3d: ## Test clusters in containers, with a private Docker engine; needs root. RUN=Failure runs these only
	@GO="$(GO)" RUN="$(RUN)" hack/e2e-k3d

.PHONY: bench
bench: controlplane ## Measure the figures of bench/README.md
	bench/run

##@ Release

.PHONY: snapshot
snapshot: controlplane ## Try the configuration of releases: ALL=kopf for all platforms, ALL=1 with their control planes
	@hack/snapshot $(BIN)/goreleaser-$(GORELEASER) $(BIN)/actionlint-$(ACTIONLINT) $(BIN)/tools/cyclonedx-gomod-$(CYCLONEDX) "$$($(BIN)/kopf cluster prepare)"

.PHONY: sbom-tool
sbom-tool: $(BIN)/tools/cyclonedx-gomod-$(CYCLONEDX) ## Install what writes the SBOMs of releases into bin/tools/
	@ln -sf $(notdir $<) $(BIN)/tools/cyclonedx-gomod

$(BIN)/tools/cyclonedx-gomod-$(CYCLONEDX):
	@mkdir -p $(BIN)/tools
	GOWORK=off GOBIN=$(BIN)/tmp-sbom $(GO) install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX)
	@mv $(BIN)/tmp-sbom/cyclonedx-gomod $@ && rmdir $(BIN)/tmp-sbom

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities, if their database can be had
	@hack/vulncheck $(BIN)/govulncheck-$(VULNCHECK) $(MODULES)
