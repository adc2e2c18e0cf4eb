# foldwatch: everything a developer types. `make help` lists it.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory

GO      ?= go
DIR     ?= .
PREFIX  ?= $(HOME)/.local
VERSION ?= $(shell tools/version)
COMMIT  ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
DATE    ?= $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%d --format=%cd 2>/dev/null)

LDFLAGS := -s -w -X main.setVersion=$(VERSION) -X main.setCommit=$(COMMIT) -X main.setDate=$(DATE)
BUILD   := $(GO) build -mod=readonly -trimpath -ldflags '$(LDFLAGS)'

# The parsers are C. In a program nobody replaces their functions at load time,
# and to be told so lets gcc inline them: they take some 7 % less time.
PLAIN_C := -fno-semantic-interposition
# The grammar of YAML keeps -1 in a char, which on arm64 has a sign only when asked. Without
# it a tag with a broken escape (!a%zz) is taken whole, not up to the escape, and nothing else.
SIGNED_C := $(if $(filter Linux-aarch64,$(shell uname -s)-$(shell uname -m)),-fsigned-char)
ifndef CGO_CFLAGS
export CGO_CFLAGS := $(strip -O2 -g $(shell $(CC) $(PLAIN_C) -x c -E /dev/null >/dev/null 2>&1 && echo $(PLAIN_C)) $(SIGNED_C))
endif

GOLANGCI_VERSION := v2.15.0
GOLANGCI         := bin/golangci-lint-$(GOLANGCI_VERSION)

MINGW ?= x86_64-w64-mingw32-gcc
QEMU  ?= $(shell command -v qemu-aarch64 || command -v qemu-aarch64-static)

# What learns the tables of the product and measures its search: a module of its own.
TRAIN := tools/train

.PHONY: help up build install test conformance accept service packages fresh openapi load lint cross bench pairs crash hammer walk merges vectors full eval fuzz idf embed-train rank-fit deps-check clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

up: ## build, then run `foldwatch up DIR` (default: this folder)
	@tools/step "download modules" $(GO) mod download
	@tools/cold
	@tools/step "compile bin/foldwatch" $(BUILD) -o bin/foldwatch ./cmd/foldwatch
	@bin/foldwatch up "$(DIR)"

build: ## bin/foldwatch
	@tools/cold
	@tools/step "compile bin/foldwatch" $(BUILD) -o bin/foldwatch ./cmd/foldwatch

install: build ## copy bin/foldwatch to PREFIX/bin (default: ~/.local/bin)
	@mkdir -p "$(PREFIX)/bin"
	@install -m 0755 bin/foldwatch "$(PREFIX)/bin/foldwatch"
	@echo "installed $(PREFIX)/bin/foldwatch"

# SQLite is C made into Go, which is little else than pointers. Its memory comes
# from the system, not from Go, and there the race detector does not look: to ask
# it at every access costs a fifth of a test of the daemon, and only globals of the
# translated code, which C's own mutexes guard, are seen less. So
# the C is compiled without it, and what is written in Go around it (the driver,
# where two who use one connection would be found) without the check of pointer
# conversions only.
RACE := -race -gcflags=modernc.org/...=-d=checkptr=0 $(patsubst %,-gcflags=modernc.org/%=-race=false,sqlite/lib libc memory)

# The corpora of the tests are small (at most 300 files); what needs the big
# one is in accept, where no race detector slows it down.
# Every process under the race detector would sleep a second before it ends.
# The packages that take longest come first, so that none of them is left to run
# alone at the end. Tests wait for events, for git and for the disk much of their
# time: three packages at once keep two cores at work.
# With cold caches the compiler would take the cores from tests that run already,
# and their clock with it. `go list -export` compiles packages and their tests as
# `go build` does, but links no program.
# A test that hangs is ended after ten minutes: with others at work on the machine
# a package may take twice its time.
LONGEST := ./daemon ./gitops ./cmd/foldwatch ./vecindex ./chunker
# tools/train is a module of its own: its tests run after the others, and not where
# PKGS names packages of the product.
ALL := $(if $(PKGS),,yes)
test: export GORACE := atexit_sleep_ms=20 $(GORACE)
test: PKGS ?= $(LONGEST) $$($(GO) list -mod=readonly ./... | grep -vE '/(daemon|gitops|cmd/foldwatch|vecindex|chunker)$$')
test: ## all tests with the race detector (some 5 minutes on 2 cores, compiling apart); PKGS="./gitops ./meta/..." for some
	@tools/cold
	@tools/step "compile with the race detector" $(GO) list -mod=readonly $(RACE) -export -test -f '{{""}}' $(PKGS)
	tools/in-memory $(GO) test -mod=readonly $(RACE) -p 3 -parallel 4 -timeout 10m $(PKGS)
	$(if $(ALL),tools/in-memory $(GO) test -C $(TRAIN) -mod=readonly $(RACE) -p 3 -parallel 4 -timeout 10m ./...)

openapi: ## rewrite api/openapi.json, and the client, as the routes are now
	$(GO) test -mod=readonly -count=1 -run '^(TestDocumentIsCheckedIn|TestClientIsGenerated|TestContract)$$' ./api -update

conformance: ## clients that are not ours: the official suite of MCP, the inspector, the TypeScript SDK; a login by oidc-provider (needs npm)
	@tools/npm
	FOLDWATCH_CONFORMANCE=1 $(GO) test -mod=readonly -count=1 -v -timeout 5m -run '^TestConformance' ./api ./cmd/foldwatch

accept: build ## the release binary on the Go toolchain's source, clocks and memory; crashes of a first index; FOLDWATCH_EVAL in short
	$(GO) test -mod=readonly -count=1 -timeout 8m -run '^TestFirstIndexGoesOn' ./cmd/foldwatch
	$(GO) test -mod=readonly -count=1 -timeout 5m -run '^TestReportCountsAsTheScorer$$' ./daemon/eval
	$(GO) test -C $(TRAIN) -mod=readonly -count=1 -timeout 5m -run '^TestOneConversationIsFound$$' ./cmd/rank-fit
	FOLDWATCH_BIN="$(CURDIR)/bin/foldwatch" $(GO) test -mod=readonly -tags accept -count=1 -v -timeout 12m -run '^TestAccept' ./testdata/rig

service: build ## install, kill, stop and uninstall as a service, in a systemd booted in a container for it (needs root)
	FOLDWATCH_BIN="$(CURDIR)/bin/foldwatch" $(GO) test -mod=readonly -tags accept -count=1 -v -timeout 3m -run '^TestSystemd$$' ./testdata/rig

# The tool is a module of its own; what it makes is checked by its tests, which
# also make all of it a second time, in another folder. Then the package is
# installed into a Debian made for it, and its units are started in a booted systemd.
PACKAGES := tools/packages
packages: build ## dist/: deb, rpm, apk, Arch, msi, zip, tar.gz, manifests, bills of materials; checked, made twice, installed (ONLY=linux/amd64 for some)
	@tools/step "compile the tool" env GOFLAGS=-mod=readonly $(GO) build -C $(PACKAGES) -o "$(CURDIR)/bin/packages" .
	@tools/step "make packages" bin/packages -out dist -version "$(VERSION)" -commit "$(COMMIT)" -epoch "$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)}" -only "$(ONLY)"
	FOLDWATCH_DIST="$(CURDIR)/dist" ONLY="$(ONLY)" GOFLAGS=-mod=readonly $(GO) test -C $(PACKAGES) -count=1 -v -timeout 20m .
	@cd dist && sha256sum --quiet --check SHA256SUMS && ls -l --block-size=K
	FOLDWATCH_DEB="$$(ls "$(CURDIR)"/dist/*_$$($(GO) env GOARCH).deb)" $(GO) test -mod=readonly -tags accept -count=1 -v -timeout 10m -run '^TestPackage' ./testdata/rig

fresh: ## the README's commands in a Debian with nothing but what it asks for (root, debootstrap); FRESH=./... for all tests
	FRESH="$(FRESH)" $(GO) test -mod=readonly -tags accept -count=1 -v -timeout 55m -run '^TestFresh$$' ./testdata/rig

crash: build ## kill -9 at random moments, also of syncs, compared with an undisturbed run; kill -9 and power cut at every call of commit, push and apply
	FOLDWATCH_CRASH=1 $(GO) test -mod=readonly -count=1 -v -timeout 60m -run '^Test(PowerCut|SyncProcessKilled|KillAtEveryStep|TenReplicas)$$|^TestSync$$/^KilledAnywhere$$' ./gitops
	FOLDWATCH_CRASH=1 $(GO) test -mod=readonly -count=1 -v -timeout 5m -run '^TestSyncKilled$$' ./cmd/foldwatch
	FOLDWATCH_BIN="$(CURDIR)/bin/foldwatch" $(GO) test -mod=readonly -tags accept -count=1 -v -timeout 60m -run '^TestCrash' ./testdata/rig

bench: build ## the goals of the performance notes, as a table; GOALS="1 5" for some
	FOLDWATCH_BIN="$(CURDIR)/bin/foldwatch" $(GO) test -mod=readonly -tags accept -count=1 -v -timeout 150m -run '^TestBench' ./testdata/rig

pairs: build ## the operations of goals 1 to 9 beside an older build, in five pairs; OLD=path of its program, GOALS="1 5" for some
	FOLDWATCH_OLD="$(abspath $(OLD))" FOLDWATCH_BIN="$(CURDIR)/bin/foldwatch" $(GO) test -mod=readonly -tags accept -count=1 -v -timeout 120m -run '^TestPairs$$' ./testdata/rig

load: build ## 64 clients at 10,000 memories, alone and beside 1,200 idle and slow ones; overhead of a call; LOAD_SECONDS=30
	FOLDWATCH_BIN="$(CURDIR)/bin/foldwatch" $(GO) test -mod=readonly -tags accept -count=1 -v -timeout 30m -run '^TestLoad' ./testdata/rig

lint: $(GOLANGCI) ## gofumpt and golangci-lint, pinned
	$(GOLANGCI) run --timeout 10m ./...
	cd tools/packages && "$(CURDIR)/$(GOLANGCI)" run --timeout 10m --config ../../.golangci.yml ./...
	cd $(TRAIN) && "$(CURDIR)/$(GOLANGCI)" run --timeout 10m --config ../../.golangci.yml ./...

# Built once from the module proxy into bin/; it takes some minutes.
$(GOLANGCI):
	@mkdir -p bin
	@tools/step "compile golangci-lint $(GOLANGCI_VERSION) (once)" env GOBIN="$(CURDIR)/bin" GOFLAGS=-mod=mod \
		$(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv bin/golangci-lint $@

# Without cgo the chunker has no parsers and cuts by text rules: that is what
# these two systems get from a plain cross build. Windows is also built in full.
cross: ## vet for Windows, macOS and Linux on arm64, test its machine code, build for Windows
	for system in windows/amd64 darwin/arm64 linux/arm64; do \
		for module in . $(TRAIN); do \
			GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0 $(GO) vet -C $$module -mod=readonly ./...; \
		done; \
	done
	@if [ -n "$(QEMU)" ]; then \
		for pair in max:neon-sdot cortex-a53:neon; do \
			KERNEL=$${pair#*:} GOOS=linux GOARCH=arm64 CGO_ENABLED=0 \
				$(GO) test -mod=readonly -count=1 -exec "$(QEMU) -cpu $${pair%:*}" ./vecindex/dot; \
		done; \
	else \
		echo "SKIP: machine code for arm64: qemu-aarch64 is missing (Debian: apt-get install qemu-user)"; \
	fi
	@if command -v $(MINGW) >/dev/null; then \
		tools/step "compile dist/foldwatch.exe" env GOOS=windows GOARCH=amd64 CGO_ENABLED=1 CC=$(MINGW) CXX=$(MINGW:gcc=g++) \
			$(BUILD) -o dist/foldwatch.exe ./cmd/foldwatch; \
	elif [ -n "$${CI:-}" ]; then \
		echo "cross: $(MINGW) is missing" >&2; exit 1; \
	else \
		echo "SKIP: build for windows/amd64: $(MINGW) is missing (Debian: apt-get install gcc-mingw-w64-x86-64)"; \
	fi

hammer: build ## users, agents and crashes against a run without daemons; HAMMER="mode=tracked agents=4 replicas=2 minutes=5 seed=1 race=1"
	HAMMER="$(HAMMER)" FOLDWATCH_BIN="$(CURDIR)/bin/foldwatch" $(GO) test -mod=readonly -tags accept -count=1 -v -timeout 120m -run '^TestHammer$$' ./testdata/rig

walk: build ## random walks over histories, the index compared with a fresh one at each step; HISTORIES="checkout name=version,version ..." STEPS=60 SEED=1 MODE=auto
	FOLDWATCH_HISTORIES="$(HISTORIES)" FOLDWATCH_STEPS="$(STEPS)" FOLDWATCH_SEED="$(SEED)" FOLDWATCH_FILE_MEMORIES="$(MODE)" FOLDWATCH_BIN="$(CURDIR)/bin/foldwatch" \
		$(GO) test -mod=readonly -tags accept -count=1 -v -timeout 120m -run '^TestWalk$$' ./testdata/rig

MERGES ?= 1000000
merges: ## a million random merges of memories, MERGES=n for others (about eight minutes on 2 cores)
	MERGES=$(MERGES) $(GO) test -mod=readonly -count=1 -v -timeout 60m -run '^TestMergeTrials$$' ./meta/fold

full: ## the long rigs: mutants, hostile files and cost of the chunker, crashes of vectors, of sync, a walk over a checkout
	FOLDWATCH_FULL=1 $(GO) test -mod=readonly -count=1 -timeout 10m -run '^Test(PoolOutlivesMutants|PoolBounds|CutBounds|CutIsLinear)$$' ./chunker
	FOLDWATCH_FULL=1 $(GO) test -mod=readonly -count=1 -timeout 10m -run '^Test(OriginalsAreNotKeptInMemory|KilledWhileItWrites|GraphServesAndComesBack)$$' ./vecindex
	FOLDWATCH_FULL=1 $(GO) test -mod=readonly -count=1 -timeout 10m -run '^Test(Sync|PowerCut)$$' ./gitops
	FOLDWATCH_FULL=1 $(GO) test -mod=readonly -count=1 -timeout 10m -run '^TestASaveIsDescribedAlone$$' ./daemon
	FOLDWATCH_FULL=1 FOLDWATCH_SEED=$${FOLDWATCH_SEED:-1} $(GO) test -mod=readonly -count=1 -v -timeout 20m -run '^TestIndexEqualsAFreshOne$$' ./daemon

vectors: ## 100,000 random operations on the vector index against a model, 3,000 flipped bits (about two minutes)
	OPERATIONS=$${OPERATIONS:-100000} FLIPS=$${FLIPS:-1000} $(GO) test -mod=readonly -count=1 -v -timeout 30m -run '^Test(RandomOperations|FlippedBytes)' ./vecindex

eval: ## search on the evaluation sets of FOLDWATCH_EVAL must stay as good, and as fast; with CLONES on all of them
	CLONES="$(CLONES)" $(GO) test -C $(TRAIN) -mod=readonly -tags accept -count=1 -v -timeout 40m -run '^Test(DefaultsStay|RandomVectors|SearchesOf)' ./cmd/rank-fit

FUZZTIME ?= 10s
fuzz: ## every fuzz target for FUZZTIME (default 10s)
	@for pkg in $$($(GO) list -mod=readonly ./...); do \
		for f in $$($(GO) test -mod=readonly -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$f"; \
			$(GO) test -mod=readonly -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

idf: ## count how rare words are, and rewrite the table keywords are chosen by
	@tools/step "download modules" $(GO) mod download
	$(GO) build -C $(TRAIN) -mod=readonly -o "$(CURDIR)/bin/idf-train" ./cmd/idf-train
	bin/idf-train -o daemon/ingest/describe/keywords_table.go

# The sources are some 450 MB, downloaded once into the caches of go and of the
# user. With two cores it takes about 5 minutes.
embed-train: ## learn the static embedding again, and rewrite vecindex/embed/static.*
	$(GO) build -C $(TRAIN) -mod=readonly -o "$(CURDIR)/bin/embed-train" ./cmd/embed-train
	bin/embed-train -o vecindex/embed

# FOLDWATCH_EVAL is the folder of the evaluation sets, CLONES one of git
# repositories, for corpora that no package registry has.
rank-fit: ## fit the weights search ranks by on sets a to c of FOLDWATCH_EVAL, and rewrite their table
	$(GO) build -C $(TRAIN) -mod=readonly -o "$(CURDIR)/bin/rank-fit" ./cmd/rank-fit
	bin/rank-fit -clones "$(CLONES)" -o daemon/rank/fitted.go

deps-check: ## the pinned versions build, vet and verify
	$(GO) build -mod=readonly ./...
	$(GO) vet -mod=readonly ./...
	$(GO) vet -C $(TRAIN) -mod=readonly ./...
	$(GO) mod verify

clean: ## remove what was built
	rm -rf bin dist
