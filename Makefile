# `make` lists the targets; the comment after a target's name is its line there.

GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The packages of the modules that are released. ./... alone is the root's module.
PACKAGES := ./... ./compare/... ./cmd/snowkey/... ./idgen/grant/etcdgrant ./idgen/grant/redisgrant ./idgen/grant/zkgrant ./monitor/otelmeter ./monitor/promcollector

.DEFAULT_GOAL := help
.PHONY: help build test race test-sharding gorm-suite torture tidy lint bench bench-peers compare-results

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the command line, bin/snowkey
	$(GO) build -o bin/snowkey ./cmd/snowkey

# The last test prints the versions of the database servers; the tests of all packages do not. SQLite and the race detector need cgo.
test race: export CGO_ENABLED = 1
test race: export SNOWKEY_TEST_REQUIRE ?= mysql,postgres,redis,etcd
test race: export TMPDIR := $(shell internal/dbtest/folder.sh)
# Test programs without tables for debuggers link in half the time. Stack traces and the race detector's reports are the same.
test race: export GOFLAGS := $(shell $(GO) env GOFLAGS) -ldflags=-s
# What takes longest begins first. Tests wait for servers, so one package more runs at once than there are processors: AT_ONCE. make lint runs go vet, for make race too.
test: AT_ONCE ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
test: ## install MariaDB, PostgreSQL, Redis and etcd where missing, and ZooKeeper beside java, and run the tests, but for the long ones
	internal/dbtest/install.sh
	$(GO) test -count=1 -vet=off -p $(AT_ONCE) -timeout 30m ./idgen/grant/etcdgrant . ./migrate ./gormplugin ./cmd/snowkey $(PACKAGES) ./examples/apis ./examples/goose
	$(GO) test -count=1 -vet=off -v -run '^TestVersion$$' ./internal/dbtest
	$(GO) generate -C examples/gen ./...
	$(GO) test -C examples/gen -count=1 ./...

# With the race detector, each process sleeps a second when it ends unless told otherwise, and the tests start some hundred processes.
# Without the workspace, the root's packages are tested with the oldest versions of GORM and of the drivers that its go.mod allows. The tests of the
# package in the root folder only run commands.
race: export GORACE ?= atexit_sleep_ms=100
# The tests that `make test` leaves out, and all cases of those that have a choice.
race torture: export SNOWKEY_TEST_LONG ?= 1
race: ## run all tests, the long ones too, with the race detector, and with the oldest GORM and drivers
	internal/dbtest/install.sh
	GOWORK=off $(GO) test -count=1 -vet=off -race -timeout 60m $$($(GO) list ./... | sed 1d)
	$(GO) test -count=1 -vet=off -race -timeout 60m ./compare/... ./cmd/snowkey/... ./idgen/grant/etcdgrant ./idgen/grant/redisgrant ./idgen/grant/zkgrant ./monitor/otelmeter ./monitor/promcollector

# gorm.io/sharding and the generators of bench-peers are needed by nothing else, so their tests are modules of their own.
test-sharding: export TMPDIR := $(shell internal/dbtest/folder.sh)
test-sharding: ## run the tests beside gorm.io/sharding
	internal/dbtest/install.sh
	$(GO) test -C shard/gormsharding -count=1 ./...

# GORM's tests are no part of its module, so GORM names a checkout. GORM_FLAGS are flags of the test, such as '-db sqlite'.
gorm-suite: export TMPDIR := $(shell internal/dbtest/folder.sh)
gorm-suite: ## run GORM's own tests with the plugin, GORM=<folder of a checkout of go-gorm/gorm>
	@test -n "$(GORM)" || { echo "make gorm-suite GORM=<folder of a checkout of go-gorm/gorm>" >&2; exit 2; }
	internal/dbtest/install.sh
	$(GO) test -count=1 -v -timeout 60m -run '^TestGORM$$' ./internal/gormsuite -args -gorm "$(GORM)" $(GORM_FLAGS)

# The test itself, which `make test` runs for some seconds, is for longer and prints its figures.
torture: export SNOWKEY_TORTURE ?= 10m
torture: ## kill, stop, clone and mislead processes that make keys with grants or tickets, kill their databases and stores and restore old copies, and compare the plugin with keys set by hand, each for SNOWKEY_TORTURE=10m; and kill migrations 200 times, log for how long one refuses inserts, and kill keepers of partitions through a year
	$(GO) test -count=1 -v -run '^TestTorture|^TestStartAndStop' -parallel 3 -timeout 60m ./idgen/grant
	$(GO) test -count=1 -v -run '^TestGalera$$|^TestStandby|^TestPatroni$$|^TestOldPrimary$$' -timeout 60m ./idgen/grant
	$(GO) test -count=1 -v -run '^TestKeepersWhile|^TestBlocks' -timeout 180m ./idgen/grant/redisgrant ./idgen/grant/etcdgrant ./idgen/grant/zkgrant
	$(GO) test -count=1 -timeout 60m ./ticket
	$(GO) test -count=1 -v -run '^TestDifferential$$' -timeout 60m ./gormplugin
	$(GO) test -count=1 -v -run '^TestKill$$|^TestRefusals$$|^TestPublished$$|^TestPartitions$$|^TestVerifyBesideWriters$$' -timeout 60m ./migrate
	$(GO) test -count=1 -v -run 'Kill|^TestYear$$' -timeout 60m ./shard/partition
	$(GO) test -count=1 -v -run '^TestFirstCommand$$' .

tidy: ## run go mod tidy in all modules
	.ci/tidy

lint: ## check the format and the go.mod files, and run go vet and staticcheck
	@unformatted=$$(gofmt -l .) && if [ -n "$$unformatted" ]; then \
		echo "gofmt -w has to format:" >&2; echo "$$unformatted" >&2; exit 1; fi
	$(GO) mod verify
	.ci/tidy -diff
	$(GO) vet work
	$(GO) run $(STATICCHECK) -checks all $$($(GO) list work | grep -v /examples/gen/query)

bench: ## run all benchmarks
	$(GO) test -run '^$$' -bench . -benchmem $(PACKAGES)

bench-peers: ## run the benchmarks beside other generators
	$(GO) test -C compare/peers -run '^$$' -bench . ./...

# Servers whose caches are smaller than the indexes; with nothing else at work, half an hour. Then what several connections cost each key, in tables that are
# smaller and larger than the cache: an hour. Its databases are in memory where they can be, as a commit of one row would else wait for the disk and for nothing else.
compare-results: ## make what is in compare/results, in a folder of today
	$(GO) run ./cmd/snowkey compare --profile full --rows 100000 --out compare/results/$$(date -u +%F) \
		--strategies autoincrement,uuidv4,uuidv7,uuidv4-text,objectid,ticket,flickr,blocks,sequence,twitter,snowkey,snowkey-fleet16,snowkey-packed,snowkey-packed-fleet16 \
		--db 'private:mysql?innodb_buffer_pool_size=16M' --db 'private:postgres?shared_buffers=16MB' \
		--db 'sqlite:compare-results.db?_journal_mode=WAL&_synchronous=NORMAL'
	rm compare-results.db*
	TMPDIR=$$(internal/dbtest/folder.sh) $(GO) run ./cmd/snowkey compare --profile full --rows 150000 --rounds 5 --writers 16x1,16x20 --out compare/results/$$(date -u +%F)-writers \
		--strategies autoincrement,snowkey,snowkey-packed,snowkey-packed-fleet16 \
		--db 'private:mysql?innodb_buffer_pool_size=8M' --db 'private:mysql?innodb_buffer_pool_size=256M' --db private:postgres
