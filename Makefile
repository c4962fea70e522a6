# Run "make" for the list of targets. All need Go; those with servers need Docker,
# which internal/integration/images/docker.sh installs on Debian.

# A checkout that git mistrusts (other owner, no git) must build too.
export GOFLAGS := -buildvcs=false $(GOFLAGS)

INTEGRATION := internal/integration
MODULES := . $(INTEGRATION) internal/tools
SERVERS ?= all
FUZZTIME ?= 20s
SOAK ?= 10m
# Redlock has servers of its own, which the program starts: it stops and freezes them.
BENCHED := redis,etcd,zookeeper,consul,consul-trio,postgres
WITHSERVERS = bin/withservers -servers $(SERVERS)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' Makefile

.PHONY: test
test: bin/withservers ## start real servers, run all tests with -race; none is skipped
	@$(WITHSERVERS) -- $(MAKE) --no-print-directory run-tests

# What "make test" runs with servers. Two packages at a time, as they share two cores
# with the servers; one where tests start, pause and kill servers of their own.
.PHONY: run-tests
run-tests:
	@$(MAKE) --no-print-directory fuzz FUZZTIME=3s
	go test -race -p 2 ./...
	go -C $(INTEGRATION) test -race -p 1 -timeout 25m ./...

.PHONY: unit
unit: ## run the tests that need no server
	go test -race ./...

.PHONY: images
images: ## build the servers' images from Debian packages, for hosts that reach no registry
	$(INTEGRATION)/images/build.sh

.PHONY: lint
lint: bin/gofumpt ## check format, vet, staticcheck and go.mod files
	@test -z "$$(bin/gofumpt -l .)" || { echo "not formatted (make fmt):"; bin/gofumpt -l .; exit 1; }
	go vet ./...
	bin/staticcheck ./...
	cd $(INTEGRATION) && go vet ./... && $(CURDIR)/bin/staticcheck ./...
	for m in $(MODULES); do go -C $$m mod tidy -diff || exit 1; done
	if command -v shellcheck >/dev/null; then shellcheck .ci/run $$(find . -name '*.sh'); fi
	internal/tools/vulnerabilities.sh $(CURDIR)/bin/govulncheck

.PHONY: api
api: ## write docs/api.txt, what the packages export, anew
	go test -count=1 -run '^TestAPI$$' . -update

.PHONY: licences
licences: ## list the dependencies of the library, with their licences
	go test -count=1 -run '^TestLicences$$' -v . | grep -v '^[=-]'

.PHONY: fmt
fmt: bin/gofumpt ## format all Go files
	bin/gofumpt -l -w .

# BENCHFLAGS: -quick, -run EXPRESSION, -json FILE, -svg FILE; see internal/integration/bench.
.PHONY: bench
bench: bin/withservers ## measure on real servers, beside locks written by hand
	@bin/withservers -servers $(BENCHED) -dir $(INTEGRATION) -- go run ./bench $(BENCHFLAGS)

# FIGURENOTE stands with the figures, such as what else the machine did meanwhile.
.PHONY: figures
figures: bin/withservers ## measure all of bench, or some with -run, and put it into docs/benchmarks.md
	@bin/withservers -servers $(BENCHED) -dir $(INTEGRATION) -- go run ./bench -note '$(FIGURENOTE)' \
		-json $(CURDIR)/docs/benchmarks.json -svg $(CURDIR)/docs/benchmarks.svg -doc $(CURDIR)/docs/benchmarks.md $(BENCHFLAGS)

.PHONY: soak
soak: ## run workers and a nemesis on real servers of all backends, for SOAK (10m) in all
	go -C $(INTEGRATION) test -race -count 1 -timeout 0 -v ./soak -soak $(SOAK)

# What docs/faults.md holds after its first lines.
.PHONY: faults
faults: ## print what each fault does to each backend, with a test behind each cell, and figures
	@mkdir -p bin
	go -C $(INTEGRATION) test -race -count 1 -timeout 0 ./faults -rounds 100 -report $(CURDIR)/bin/faults.md
	@cat bin/faults.md

.PHONY: example-invoices
example-invoices: bin/withservers ## bill 10,000 accounts with 20 workers, on a real Redis, and on etcd and Postgres
	@bin/withservers -servers redis,etcd,postgres -- sh -c 'go run ./examples/invoices \
		-redis "$$DISTLOCK_TEST_REDIS" -etcd "$$DISTLOCK_TEST_ETCD" -postgres "$$DISTLOCK_TEST_POSTGRES"'

.PHONY: fuzz
fuzz: ## run each fuzz test for FUZZTIME (20s)
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | while IFS=: read -r file name; do \
		name=$${name#func }; dir=$$(dirname "$$file"); echo "$$dir $$name"; \
		go -C "$$dir" test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) . || exit 1; \
	done

# Go knows best whether these are up to date.
.PHONY: bin/withservers
bin/withservers:
	@go -C $(INTEGRATION) build -o $(CURDIR)/bin/ ./cmd/withservers

.PHONY: bin/gofumpt
bin/gofumpt: # and the others
	@go -C internal/tools build -o $(CURDIR)/bin/ tool
