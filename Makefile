# `make help` lists the targets. They run on a bare Debian-like machine with Go, make and git, as root.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Targets run one after the other: up is base, then deploy. The commands do their own work in parallel.
.NOTPARALLEL:

export BPA_STATE ?= /var/lib/bpa
# Tests, tools and images share these build flags, so each package is compiled only once.
export CGO_ENABLED := 0
export GOFLAGS += -trimpath -buildvcs=false
# KUBESPRAY is the checkout of the real kubespray: the caller's, or that of `make kubespray`.
# Empty means that this machine has no kubespray.
export KUBESPRAY ?= $(patsubst %/cluster.yml,%,$(wildcard $(BPA_STATE)/kubespray/cluster.yml))
# BPA_BENCH_RESULTS is the file to which benchmarks append their figures.
export BPA_BENCH_RESULTS ?= $(BPA_STATE)/bench.jsonl
export KUBECONFIG := $(BPA_STATE)/kubeconfig
export PATH := $(BPA_STATE)/bin:$(PATH)

machine := $(BPA_STATE)/bin/machine
lab     := $(BPA_STATE)/bin/lab

# debian installs Debian packages ($(2)) if a program ($(1)) is missing. It updates apt's lists first, because
# a fresh machine has none. RUNLEVEL=1 keeps apt from starting services.
debian = command -v $(1) >/dev/null || flock Makefile $(SHELL) -ec 'apt-get update -q && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $(2)'

.PHONY: help
help: ## Show this help
	@awk -v tty="$$([ -t 1 ] && echo 1 || true)" 'BEGIN {FS = ":.*## "; if (tty) {b = "\033[1m"; n = "\033[0m"}} \
	  function line() {return sprintf("  %s%-24s%s %s\n", b, $$1, n, $$2)} \
	  /^##@ / {printf "\n%s%s%s\n", b, substr($$0, 5), n} \
	  /^[a-z0-9-]+:.*## / {sub(/:.*/, "", $$1); if ($$1 ~ /^(e2e|integration-|survival)/) tests = tests line(); else printf "%s", line()} \
	  END {if (tests) printf "\n%sEnd-to-end and long tests%s\n%s", b, n, tests}' $(MAKEFILE_LIST)
	@echo
	@echo "  State is in BPA_STATE=$(BPA_STATE). KUBESPRAY=<checkout of v2.31.0> names a kubespray other than $(BPA_STATE)/kubespray (make kubespray)."

##@ Use

.PHONY: up base deploy down destroy clean status demo kubespray bundle bench bench-doc
up: base deploy ## Start the bootstrap machine: Kubernetes, depot, Tekton, Metal3's kinds and this project; SITE=site.yaml: in the networks of a site
base: tools
	$(machine) up $(if $(SITE),--site $(abspath $(SITE))) --project=false
	$(lab) artifacts
deploy: tools ## Build this project's images and apply config/ on a running bootstrap machine
	$(machine) deploy
down: ## Stop the bootstrap machine and leave nothing running; keep all data
	@[ ! -x $(machine) ] || $(machine) down
destroy: ## Name the clusters and Backups that would be deleted; ID=<id of the machine>: delete them; keep builds and the depot's content
	@[ ! -x $(machine) ] || $(machine) destroy $(if $(ID),--yes $(ID))
clean: ## As destroy, with ID=<id of the machine>, but delete everything, also the depot and the caches
	@[ ! -x $(machine) ] || $(machine) clean $(if $(ID),--yes $(ID))
status: ## Show the state of the bootstrap machine's components
	@$(machine) status
demo: up plugin ## Install a new cluster on lab machines with one Provisioning, and run a pod on it
	test/demo/demo.sh
kubespray: ## Get the real kubespray: clone tag v2.31.0, or use ARCHIVE=<tar.gz by git archive>
	hack/kubespray.sh $(ARCHIVE)
bundle: up plugin ## Pack all artifacts of the demo's cluster into one file, and import it into an empty depot
	test/demo/bundle.sh
bench: up plugin ## Measure every ratio, each against its named peer, and write docs/benchmarks.md; BPA_BENCH_NODES=2,5: sizes of the clusters
	rm -f $(BPA_BENCH_RESULTS)
	BPA_BENCH_EACH=1 go test ./test/bench -tags e2e -count=1 -v -timeout 300m -run TestBench
	$(call debian,curl,curl)
	$(call debian,nginx,nginx-light)
	go test ./test/bench/depot -tags bench -count=1 -v -timeout 30m -run TestBench
	go test ./pkg/transfer -run '^$$' -bench Seeding -benchtime 5x
	BPA_SCALE_CLUSTERS=1000 go test ./test/integration -tags integration,bench -count=1 -v -timeout 90m -run 'TestScale$$'
	$(MAKE) --no-print-directory bench-doc
bench-doc: ## Print the figures of the last make bench and write them into docs/benchmarks.md, also if it did not finish
	go run ./hack/benchdoc $(BPA_BENCH_RESULTS) docs/benchmarks.md

##@ Build

.PHONY: tools build plugin
tools: ## Build this project's commands for this machine into $BPA_STATE/bin
	@mkdir -p $(BPA_STATE)/bin
	GOGC=400 go build -C bootstrap -o $(machine) ./cmd/machine
	GOGC=400 go build -o $(lab) ./test/lab/cmd/lab
build: tools ## Build what runs on the bootstrap machine: Kubernetes, Tekton and others, from their Go modules
	$(machine) build
plugin: ## Build the kubectl plugin (kubectl bpa), with its completion
	go build -ldflags "-s -w" -o $(BPA_STATE)/bin/kubectl-bpa ./cmd/kubectl-bpa
	install cmd/kubectl-bpa/kubectl_complete-bpa $(BPA_STATE)/bin/

##@ Test

# stories-TARGET are the Test functions of test/e2e that TARGET runs: each function is in exactly one of these
# lines, which a test in test/architecture checks. make test runs those of e2e-install, e2e-season and e2e-ansible.
stories-e2e-install   := TestInstall TestFailures TestDeleteInTheMiddle
stories-e2e-season    := TestSeason
stories-e2e-ansible   := TestStandIn
stories-e2e-life      := TestChange
stories-e2e-hosts     := TestStandby TestDeadHost TestKilled
stories-e2e-upgrade   := TestUpgradeCluster
stories-e2e-patch     := TestPatch
stories-e2e-configure := TestConfigure
stories-e2e-plugins   := TestPlugins TestCPUManager
stories-e2e-software  := TestSoftware TestSoftwareReboot
stories-e2e-restore   := TestRestore TestRestoreOfThree TestAdopt
stories-e2e-api       := TestAPIAddress
stories-e2e-families  := TestBothFamilies
stories-e2e-vip       := TestVirtualAddress
stories-e2e-same      := TestSameResult TestSameFailure
stories-e2e-machine   := TestMachineIsLost TestMachineOfAnOlderBackup
stories-test-year     := TestYear
# Targets that make test leaves out: they take long, or have not been seen to pass on kubespray yet. test/passed.tsv
# has their last success.
left-out := e2e-life e2e-hosts e2e-upgrade e2e-patch e2e-configure e2e-plugins e2e-software e2e-restore e2e-api e2e-families e2e-vip e2e-machine e2e-same integration-long test-power test-boot test-ansible test-year

empty :=
comma := ,
# stories runs the stories of the target on real clusters, one after the other, with a time limit ($(1)).
stories = go test ./test/e2e -tags e2e -run '^($(subst $(empty) ,|,$(stories-$@)))$$' -count=1 -v -timeout $(1)
# proved leaves out a long test whose files have not changed since it passed: see the script.
proved := hack/proved.sh
# long runs and records a target that make test leaves out.
long = @[ -n "$(KUBESPRAY)" ] || { echo 'This machine has no kubespray: run make kubespray && make up, or set KUBESPRAY to a checkout of v2.31.0.'; exit 1; }; hack/tested.sh $@ $(stories)

.PHONY: test test-long test-icn unit integration integration-long survival e2e $(left-out)
test: ## Run unit, integration, survival and e2e tests, say how long each part took, and name the tests that are left out
	@hack/parts.sh build unit,integration survival e2e
	@hack/tested.sh report $(left-out)
test-long: ## Run the tests that make test leaves out (hours)
	@failed=; for target in $(left-out); do $(MAKE) --no-print-directory "$$target" || failed="$$failed $$target"; done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }
unit: ## Run the tests that need no cluster
	$(call debian,python3,python3)
	go test -timeout 20m ./...
	go test -C bootstrap ./...
integration: build ## Test with real servers and clients: kube-apiserver, Metal3, Ironic, S3, containerd, skopeo, apt-get, tus-js-client, OCI conformance
	$(call debian,skopeo,skopeo)
	$(call debian,npm,nodejs npm)
	$(call debian,gnutls-cli,gnutls-bin)
	$(call debian,openssl,openssl)
	$(call debian,curl,curl)
	$(call debian,python3,python3 python3-venv)
	python3 -c 'import ensurepip' || flock Makefile $(SHELL) -ec 'apt-get update -q && apt-get install -qy --no-install-recommends python3-venv'
	$(call debian,gpg,gpg)
	$(call debian,qemu-img,qemu-utils)
	$(call debian,sgdisk,gdisk)
	$(call debian,parted,parted)
	$(call debian,udevadm,udev)
	$(call debian,nft,nftables)
	$(call debian,iptables,iptables)
	$(call debian,genisoimage,genisoimage)
	$(call debian,fuser,psmisc)
	go test ./pkg/bundle/debian ./pkg/depot/apt ./pkg/depot/tlscert -tags integration -count=1
	go test ./pkg/operate/prepare ./pkg/operate/upgrade -tags integration -run RealApt -count=1
	$(call debian,keepalived,keepalived)
	go test ./pkg/operate/vip -tags integration -count=1
	$(call debian,systemd-analyze,systemd)
	go test -C bootstrap ./internal/cluster ./internal/config -tags integration -run "Metal3|Systemd|Secrets" -count=1
	go test -C bootstrap ./internal/restore -tags integration -count=1 -timeout 15m
	go test -C bootstrap ./internal/host ./internal/supervisor -tags integration -run "Network|User" -count=1
	DEPOT=$(BPA_STATE)/bin/depot go test -C bootstrap ./internal/backup ./internal/target -tags integration -count=1 -timeout 10m
	$(call debian,mkfs.ext4,e2fsprogs)
	$(call debian,losetup,mount)
	go test -C bootstrap ./power -tags integration -count=1 -timeout 10m
	go test ./test/integration/... -tags integration -skip $(slow) -count=1 -timeout 40m
	$(proved) depot -tags integration -deps './test/conformance/... ./test/clients/... ./pkg/depot/store/bucket ./cmd/depot' -- \
	  $(SHELL) -ec 'go test ./test/conformance/... ./test/clients/... ./pkg/depot/store/bucket -tags integration -count=1 -timeout 25m; \
	    go test ./cmd/depot -tags integration -run TusClient -count=1 -timeout 10m'
test-icn: build ## Test that ICN's own files apply unchanged: ICN=<checkout of akraino-edge-stack/icn at 95ca9e91>
	@[ -d "$(ICN)/cmd/bpa-operator" ] || { echo 'Set ICN to a checkout of github.com/akraino-edge-stack/icn at commit 95ca9e91, the last one with its operator.'; exit 1; }
	ICN=$(abspath $(ICN)) go test -tags icn ./pkg/apis/bpa/v1alpha1 ./pkg/hosts/hostfile ./pkg/reconciler/provisioning/plan -run ICN -count=1
	ICN=$(abspath $(ICN)) go test -tags integration,icn ./test/integration -run ICN -count=1 -v -timeout 10m
slow := 'TestIronic(ReplacesOneHost|NamesStuckServers)'
integration-long: tools ## Test that one host that fails to receive its image costs no other host, and why servers are stuck (real Ironic, about 12 min); first: make integration
	hack/tested.sh $@ go test ./test/integration -tags integration -run $(slow) -count=1 -v -timeout 40m
test-power: build ## Cut the power of etcd and the depot 200 times: nothing that they acknowledged may be lost (make integration cuts it 20 times)
	BPA_POWER_CUTS=200 hack/tested.sh $@ go test -C bootstrap ./power -tags integration -count=1 -v -timeout 60m
test-boot: build ## Let the systemd of a Debian 12 start a second bootstrap machine in a sandbox: reboots, a killed supervisor, one that hangs
	$(call debian,mmdebstrap,mmdebstrap)
	hack/tested.sh $@ bootstrap/boot/run
.PHONY: first-hour first-hour-cluster
first-hour: ## Run docs/first-hour.md on a fresh clone, with BPA_STATE=<a folder without a machine>, and compare what it prints (hours)
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && go build -o "$$dir/" ./test/firsthour && \
	  page=$(CURDIR)/docs/first-hour.md && cd "$$dir" && env -u KUBESPRAY REPOSITORY=$(CURDIR) ./firsthour "$$page"
first-hour-cluster: up plugin ## Run docs/first-hour.md from its first cluster on, on this machine
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && go build -o "$$dir/" ./test/firsthour && \
	  page=$(CURDIR)/docs/first-hour.md && cd "$$dir" && ./firsthour -from "A cluster" "$$page"
survival: build ## Kill, "reboot" and take down a second bootstrap machine in a sandbox
	$(proved) survival -C bootstrap -deps ./... -files bootstrap -- bootstrap/e2e/run

e2e: up plugin ansible-core ## Run the parts of e2e beside each other, because each waits for its clusters half of the time
ifneq ($(KUBESPRAY),)
	@hack/parts.sh $(subst $(empty) ,$(comma),$(parts-e2e))
else
	go test ./test/e2e -tags e2e -run '^TestStandIn$$' -count=1 -v -timeout 20m
	@echo 'LEFT OUT: all other tests of e2e, because this machine has no kubespray. To run them: make kubespray && make e2e'
endif
# The first two parts of e2e have about the same length. Both begin with an installation of several machines (go test takes files by their
# names), so that the steps of the year have the smaller clusters beside them. They need a kubespray, and a machine that make up plugin ansible-core has prepared.
parts-e2e := e2e-season e2e-install e2e-ansible
.PHONY: $(parts-e2e)
e2e-season: ## Part of e2e: seven steps of a year
	$(call stories,70m)
e2e-install: ## Part of e2e: an installation with plugins and its reset, each failure that it can meet, a deletion in the middle
	$(call stories,70m)
	go test ./pkg/tasks/seedregistry ./pkg/tasks/backup -tags e2e -count=1 -v -timeout 40m
e2e-ansible: ## Part of e2e: Softwares on real Debian and RPM packages; the accelerations change no result of Ansible; kubespray's playbooks and lists; the stand-in
	go test ./pkg/operate/play -tags integration -run RealPrefetch -count=1 -timeout 15m
	PATH=$(BPA_STATE)/cache/lab/ansible/venv/bin:$$PATH go test ./pkg/inventory ./pkg/admission -tags kubespray -run 'Kubesprays|OnKubespray' -count=1
	PATH=$(BPA_STATE)/cache/lab/ansible/venv/bin:$$PATH go test ./pkg/upgrade ./pkg/secretvars ./test/recipes -tags kubespray -run OnKubespray -count=1 -timeout 40m
	$(proved) software -files 'pkg/tasks/software pkg/tasks/playbook' -- \
	  go test ./pkg/tasks/software -tags integration -run "Real|ModuleActions" -count=1 -timeout 40m
	$(proved) accelerations -files 'pkg/tasks/playbook pkg/ansible test/ansible hack/ansible-core.sh' -- \
	  $(SHELL) -ec 'go test ./pkg/tasks/playbook/acceleration -tags integration -run "Real|Plugins" -count=1 -timeout 40m; \
	    go test ./pkg/tasks/playbook/acceleration -tags e2e -count=1 -v -timeout 40m; \
	    go test ./pkg/tasks/playbook/acceleration -tags kubespray -run "Kubesprays|OnKubespray" -count=1; \
	    go test ./test/ansible -tags e2e -run TestImportant -count=1 -v -timeout 40m'
	$(proved) stand-in -files 'test/playbooks test/lab/modules/network test/e2e/standin_test.go pkg/inventory pkg/tasks/playbook tekton' -- \
	  $(call stories,30m)
.PHONY: matrix
matrix: up ## Evaluate kubespray's lists for each network plugin and operating system, and write docs/matrix.md (about 3 min)
	PATH=$(BPA_STATE)/cache/lab/ansible/venv/bin:$$PATH go test ./test/matrix -tags kubespray -run TestMatrix -count=1 -v -timeout 60m -update
.PHONY: ansible-core
ansible-core: $(BPA_STATE)/cache/ansible-core/ansible_core-2.18.19.tar.gz
$(BPA_STATE)/cache/ansible-core/ansible_core-2.18.19.tar.gz: test/ansible/requirements.txt hack/ansible-core.sh
	hack/ansible-core.sh $(@D)
	touch $@
test-ansible: up ansible-core ## Test that the accelerations change no result of ansible-core's integration targets
	hack/tested.sh $@ go test ./test/ansible -tags e2e -run TestAll -count=1 -v -timeout 150m
test-year: export BPA_YEAR_SEED = $(SEED)
test-year: export BPA_YEAR_STEPS = $(STEPS)
test-year: export BPA_YEAR_FROM = $(FROM)
test-year: export BPA_YEAR_KEEP = yes
test-year: export BPA_TESTED_PART = $(STEPS)$(FROM)
test-year: up plugin ## Play a year of one cluster by a seed: SEED=1 STEPS=12 FROM=1; a failed step leaves the cluster, and FROM goes on with it
	$(lab) artifacts --kubernetes 1.35.3
	$(call long,180m)
e2e-life: up plugin ## Test one cluster that grows, loses machines and shrinks
	$(call long,60m)
e2e-hosts: up plugin ## Test a standby, deletions with a host that is off, and killed playbooks
	$(call long,60m)
e2e-upgrade: up plugin ## Test the upgrade of a cluster over one minor version (the first build of the old version takes 20 min)
	$(lab) artifacts --kubernetes 1.34.3
	$(call long,60m)
e2e-patch: up plugin ## Test a patch of the operating systems, with a reboot
	$(call long,40m)
e2e-configure: up plugin ## Test variables that are applied without a drain
	$(call long,30m)
e2e-plugins: up plugin ## Test plugins that are added, fail, change the nodes and are removed
	$(call long,60m)
e2e-software: up plugin ## Test packages on the nodes: updates, failures, a worker that is down, removal, drains and reboots
	$(call long,60m)
e2e-restore: up plugin ## Test backups, the loss of the control plane and its restore
	$(call long,110m)
e2e-api: up plugin ## Test a cluster behind a load balancer, which is switched off, and whose first control plane is lost
	$(call long,60m)
e2e-families: up plugin ## Test a cluster with both address families
	$(call long,60m)
e2e-vip: up plugin ## Test a cluster whose API servers have an address that moves: control planes are killed, removed, and the cluster is deleted
	$(lab) artifacts --vip
	$(call long,90m)
e2e-machine: up plugin ## Test a cluster whose bootstrap machine is destroyed and restored, also from a backup older than the cluster, in a sandbox
	@[ -n "$(KUBESPRAY)" ] || { echo 'This machine has no kubespray: run make kubespray && make up, or set KUBESPRAY to a checkout of v2.31.0.'; exit 1; }
	hack/tested.sh $@ test/e2e/machine
e2e-same: up plugin ## Test that the accelerations change neither the result nor the failures of kubespray
	$(call long,60m)

##@ Keep

.PHONY: generate verify fmt lint vuln
generate: ## Regenerate code, CRD, API reference and manifests
	hack/update-codegen.sh
	go -C bootstrap run ./cmd/machine generate
verify: ## Fail if generated code, formatting or modules are out of date
	hack/verify-codegen.sh
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo 'run make fmt'; exit 1; }
	go mod tidy -diff
fmt: ## Format the Go code
	gofmt -w $$(git ls-files '*.go')
lint: ## Run go vet and staticcheck on the product and the bootstrap machine, and build the plugin for the systems of its users
	hack/plugin-builds.sh
	go vet -tags e2e,integration,bench,kubespray,icn,machine ./... && go vet -C bootstrap -tags e2e,integration ./...
	go tool -modfile=hack/tools/go.mod staticcheck -tags e2e,integration,bench,kubespray,icn,machine ./...
	go tool -C bootstrap -modfile=../hack/tools/go.mod staticcheck -tags e2e,integration ./...
vuln: ## Run govulncheck on the product and the bootstrap machine; VULNDB=URL: another database (hack/vulndb/README.md)
	VULNDB=$(VULNDB) hack/govulncheck.sh
