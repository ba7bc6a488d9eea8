# The targets a person needs; `make` alone shows them.

GO     ?= go
OUT    ?= demo
FUZZ   ?= 1m
WEBS   ?= 1000

.PHONY: help build install demo test check bench bench-1m promises fuzz clean

help: ## show the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## build the crawler (no cgo) and the analyst's tool into bin/
	CGO_ENABLED=0 $(GO) build -o bin/agentcensus ./cmd/agentcensus
	$(GO) build -o bin/agentcensus-report ./cmd/agentcensus-report

demo: build ## crawl 10,000 simulated sites and look at what was written
	rm -rf $(OUT)
	bin/agentcensus crawl --simulate 10000 --out $(OUT)
	bin/agentcensus-report summary --data $(OUT)

test: ## all tests, with the race detector
	$(GO) test -race -timeout 15m ./...

check: ## formatting, vet, module files, and that the crawler needs no cgo
	@test -z "$$(gofmt -l .)" || { echo "not gofmt-ed:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) mod tidy -diff
	CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/agentcensus

bench: ## measure the figures of the README; exits 1 where one is missed
	$(GO) run ./pipeline/bench/cmd

bench-1m: ## a million names through the pipeline with an in-memory exchange
	$(GO) run ./pipeline/bench/cmd -only million

promises: ## draw WEBS (default 1000) random webs and kill the crawl of each at random
	$(GO) test -race -timeout 2h -run TestPromisesHoldOnAnyWeb ./pipeline -rapid.checks $(WEBS)

fuzz: ## run every fuzz target for FUZZ (default 1m) each
	@for pkg in $$($(GO) list ./...); do \
	  names=$$($(GO) test -list '^Fuzz' $$pkg) || exit 1; \
	  for f in $$(echo "$$names" | grep '^Fuzz'); do \
	    echo "== $$pkg $$f"; \
	    $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZ) -fuzzminimizetime 1x $$pkg || exit 1; \
	  done; \
	done

clean: ## remove what build and demo made
	rm -rf bin demo
