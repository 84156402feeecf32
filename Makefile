# Everything a contributor runs. `make help` lists it.
GO ?= go
# A count ends by itself. When a duration ends, Go before 1.27 now and then reports
# that as a failure of the target (go.dev/issue/75804).
FUZZTIME ?= 100000x
# Inputs that are new are made smaller for so long at most: Go's minute for each
# would leave no time to find others.
MINIMIZE ?= 1s
SOAK ?= 30s

.PHONY: help build check test race bench e2e fuzz soak train weaviate weaviate-install embedder

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

build: ## the static binary, ./strata
	CGO_ENABLED=0 $(GO) build -trimpath -o strata .

check: ## format, vet, staticcheck, other systems
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	GOOS=linux GOARCH=arm64 $(GO) build -o /dev/null .
	GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null .
	GOOS=windows GOARCH=amd64 $(GO) build -o /dev/null .

test: ## every test; clients that are not installed are skipped
	$(GO) test ./...
	$(GO) test -tags peekwatch -run 'Leave' ./proxy

race: ## the packages under the race detector
	$(GO) test -race -short $$($(GO) list ./... | grep -v /e2e)

e2e: ## the whole program with go-openai, the Node and Python SDKs and curl; none may be missing
	STRATA_E2E_REQUIRE=1 $(GO) test -count=1 ./e2e

fuzz: ## each fuzz target for FUZZTIME, as -fuzztime takes it
	@set -e; for p in $$(grep -l '^func Fuzz' */*_test.go */*/*_test.go | xargs -n1 dirname | sort -u); do \
		for f in $$($(GO) test -list '^Fuzz' ./$$p | grep ^Fuzz); do \
			echo "$$p $$f"; $(GO) test ./$$p -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime $(MINIMIZE); done; done

bench: ## the table in the README; against a bare forwarder in the same run
	$(GO) run ./internal/bench

soak: ## load with aborts under the race detector for SOAK
	STRATA_SOAK=$(SOAK) $(GO) test -count=1 -run Soak -v ./e2e

train: ## the weights of the intent classifier from intent/train/data, the same bits each time
	$(GO) run ./intent/train -out intent/weights.bin

weaviate: ## a Weaviate on 127.0.0.1:8080, built on first use into the user's cache folder
	$(GO) run ./internal/weaviateserver/run

weaviate-install: ## that server alone, for the tests that need it
	$(GO) run ./internal/weaviateserver/run -install

EMBEDDER = e2e/embedder
EMBEDDER_PORT ?= 8089

embedder: $(EMBEDDER)/node_modules/.package-lock.json ## an English embedder on 127.0.0.1:8089 for quality runs, without network; needs Node.js
	node $(EMBEDDER)/server.mjs --port $(EMBEDDER_PORT) $(if $(EMBEDDER_CACHE),--cache $(EMBEDDER_CACHE))

$(EMBEDDER)/node_modules/.package-lock.json: $(EMBEDDER)/package-lock.json
	cd $(EMBEDDER) && npm ci --no-audit --no-fund --ignore-scripts
