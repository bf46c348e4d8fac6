package plan

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/health"
	"github.com/akraino-icn/bpa/pkg/inventory"
)

var update = flag.Bool("update", false, "write the results into testdata")

// TestStories runs every scenario in testdata. A scenario has paragraphs; each consists of events,
// a line of dashes, and the chosen step with the reported status. If `go test -update` changes a
// scenario, review the change.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	changes, _ := filepath.Glob("testdata/changes/*.txt") // one file is one scenario
	if err != nil || len(files) == 0 || len(changes) < 60 {
		t.Fatalf("%d stories and %d about changes: %v", len(files), len(changes), err)
	}
	files = append(files, changes...)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text), strings.Contains(file, "changes"))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

const rule = "----"

// play returns the text with the results. brief leaves out conditions that say the same as Ready, and
// conditions without a problem.
func play(t *testing.T, text string, brief bool) string {
	w := newScene()
	w.brief = brief
	var out []string
	for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		happened, _, told := strings.Cut(paragraph, "\n"+rule)
		out = append(out, happened)
		if !told {
			out = append(out, "") // a comment
			continue
		}
		for _, line := range strings.Split(happened, "\n") {
			if line != "" && !strings.HasPrefix(line, "#") {
				w.happen(t, strings.Fields(line))
			}
		}
		out = append(out, rule, w.describe(), "")
		w.renders(t)
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n"
}

// scene is the current state of a scenario: the observed state, the stored status, and the time.
type scene struct {
	seen Seen
	p    *v1alpha1.Provisioning
	now  time.Time
	last Step
	// brief leaves out conditions that say the same as Ready, and conditions without a problem.
	brief bool
	macs  map[string]string // of the slots that are pinned
	// backups are the Backups of the namespace, and badKey why the key does not open them.
	backups []*v1alpha1.Backup
	badKey  string
	// installsPlugins reports that the newest run installs plugins.
	installsPlugins bool
	// processed are the nodes that the newest run for Softwares has processed.
	processed []string
	// answered is the request of a user that the status last had as answered.
	answered string
}

func newScene() *scene {
	w := &scene{
		seen: Seen{
			Namespace: "site", Name: "edge-1", Generation: 1, Digest: "one", Inputs: "one", Request: contract.Request{Spec: contract.Spec{PodSubnet: "one"}}, Slots: []string{"master-1", "worker-1"},
			Limits: Limits{Attempts: 3, History: 2, Drain: 10 * time.Minute},
			Hosts:  &Need{}, SSH: &Need{}, Recorded: true, States: contract.HostStates{},
		},
		p:   &v1alpha1.Provisioning{},
		now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
	}
	w.p.Namespace, w.p.Name = "site", "edge-1"
	return w
}

func (w *scene) happen(t *testing.T, words []string) {
	rest := strings.Join(words[1:], " ")
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch words[0] {
	case "hosts":
		w.seen.Hosts = &Need{Missing: rest}
	case "ssh":
		w.seen.SSH = &Need{Missing: rest}
	case "spec":
		w.seen.Request.PodSubnet = arg(1)
		w.edited(arg(1))
		if w.seen.Changes, w.seen.Revertible = nil, true; arg(1) != "one" {
			w.seen.Changes = []string{"spec.PodSubnet: subnet of " + arg(1)}
		}
	case "edit": // the same words as without "edit", after the first run
		w.happen(t, words[1:])
		w.edited(fmt.Sprint(w.seen.Slots, w.seen.Sets, w.seen.Request.KubernetesVersion, w.seen.Request.PodSubnet, w.macs, w.seen.Request.Settings(), w.seen.Request.Patched))
	case "plugins":
		w.plugins(words[1:])
		w.seen.Inputs = w.pluginInputs()
		if r := w.seen.Newest(); r != nil {
			w.seen.Generation++
			w.seen.Edited = r.Inputs != w.seen.Inputs
		}
	case "facts": // of hosts have changed what a plugin's requirements find
		w.plugins(words[1:])
	case "plugin":
		w.recordPlugin(words[1:])
	case "plugins-wrong":
		w.seen.Plugins.Problem = rest
	case "ships": // a newer BPA
		for i, p := range w.seen.Request.Plugins {
			if p.Name == arg(1) {
				w.seen.Request.Plugins[i].Version = arg(2)
			}
		}
	case "policy-replace":
		w.seen.Replace = v1alpha1.ReplacePolicy(arg(1))
	case "mac": // pins a node to a host; the hosts of this world have the MAC addresses mac-of-HOST
		if w.macs == nil {
			w.macs = map[string]string{}
		}
		w.macs[arg(1)] = "mac-of-" + arg(2)
	case "subnet":
		w.seen.Request.PodSubnet = arg(1)
	case "unclean": // the reset of these hosts failed
		for _, name := range words[1:] {
			w.seen.States[w.seen.Site[name].UID] = contract.HostUsed
		}
	case "version":
		w.seen.Request.KubernetesVersion = arg(1)
	case "release":
		w.seen.Request.Release = arg(1)
	case "vars": // NAME=VALUE
		w.seen.Request.Vars = map[string]json.RawMessage{}
		for _, word := range words[1:] {
			name, value, _ := strings.Cut(word, "=")
			w.seen.Request.Vars[name] = json.RawMessage(value)
		}
	case "batches": // spec.upgrade.maxUnavailable
		w.seen.Upgrade.MaxUnavailable = ptr.To(intstr.Parse(arg(1)))
	case "pause-workers": // spec.upgrade.pauseAfterControlPlane
		w.seen.Upgrade.PauseAfterControlPlane = arg(1) == "yes"
	case "gets": // the run has upgraded these nodes, and goes on
		w.upgrade(words[1:])
	case "half": // the playbook of the run has begun to change these nodes
		w.seen.Memory.Nodes = slices.Clone(w.seen.Memory.Nodes)
		for i, n := range w.seen.Memory.Nodes {
			if slices.Contains(words[1:], n.Name) {
				w.seen.Memory.Nodes[i].Target = &contract.Target{Version: w.seen.Started.KubernetesVersion, Settings: w.seen.Started.Settings()}
				if u := w.seen.Started.Upgrade; u != nil && u.Narrow != nil {
					w.seen.Memory.Nodes[i].Target.Variables = u.Narrow.Variables
				}
			}
		}
	case "patch": // the value of the annotation; empty: it was removed
		w.seen.Request.Patched = arg(1)
	case "half-patched": // the run has begun to patch these nodes
		w.seen.Memory.Nodes = slices.Clone(w.seen.Memory.Nodes)
		for i, n := range w.seen.Memory.Nodes {
			if slices.Contains(words[1:], n.Name) {
				w.seen.Memory.Nodes[i].Target = &contract.Target{Patch: w.seen.Started.Upgrade.Patch}
			}
		}
	case "record": // lost
		w.seen.Memory = nil
	case "unlisted": // somebody removed the node from the list of nodes
		w.seen.Nodes = slices.DeleteFunc(slices.Clone(w.seen.Nodes), func(n contract.Node) bool { return n.Name == arg(1) })
	case "run-removed": // the run has written the record, but goes on
		w.remember()
	case "draining":
		w.seen.Memory.Draining = words[1:]
	case "leaving":
		w.seen.Memory.Leaving = words[1:]
	case "invalid":
		w.seen.Invalid = rest
	case "health": // what the looks have shown: unknown, unchecked, silent or answers, with the nodes that are not Ready
		w.health(t, arg(1), words[min(2, len(words)):])
	case "certificate": // of the API server expires after
		d, err := time.ParseDuration(arg(1))
		if err != nil {
			t.Fatal(err)
		}
		w.seen.Health.CertificateExpires = w.now.Add(d)
	case "queue": // runs at a time, place, number that wait, and the Provisionings of the active runs
		limit, _ := strconv.Atoi(arg(1))
		place, _ := strconv.Atoi(arg(2))
		length, _ := strconv.Atoi(arg(3))
		since := w.now
		if w.p.Status.Queue != nil {
			since = w.p.Status.Queue.Since.Time
		}
		w.seen.Queue = &Queue{Limit: limit, Ahead: place - 1, Length: length, Since: since, Active: words[min(4, len(words)):]}
	case "elsewhere":
		w.seen.Queue.Elsewhere, _ = strconv.Atoi(arg(1))
	case "settings":
		w.seen.Settings = rest
	case "depot":
		w.seen.Depot = rest
	case "retry":
		w.seen.Retry = arg(1)
	case "paused":
		w.seen.Paused = arg(1) == "yes"
	case "delete":
		w.seen.Deleting = true
	case "policy":
		w.seen.Retain = arg(1) == "Retain"
	case "unrecorded": // the states of the hosts are lost
		w.seen.Recorded, w.seen.States = false, nil
	case "reset": // the task kubespray has proved that these hosts are empty
		for _, name := range words[1:] {
			w.seen.States[w.seen.Site[name].UID] = contract.HostClean
		}
	case "pods":
		w.seen.Pods = words[1:]
	case "leftovers":
		w.seen.Leftovers = words[1:]
	case "wait":
		d, err := time.ParseDuration(arg(1))
		if err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(d)
	case "created":
		w.create(t)
	case "claimed":
		w.claim()
	case "released":
		for name := range w.seen.Site {
			w.host(t, name, "free", "")
		}
	case "nodes":
		w.seen.Slots = words[1:]
	case "set": // name, active, standby
		active, _ := strconv.Atoi(arg(2))
		standby, _ := strconv.Atoi(arg(3))
		w.seen.Sets = slices.DeleteFunc(slices.Clone(w.seen.Sets), func(s contract.Set) bool { return s.Name == arg(1) })
		if active+standby > 0 {
			w.seen.Sets = append(w.seen.Sets, contract.Set{Name: arg(1), Roles: rolesOf(arg(1)), Active: active, Standby: standby})
		}
	case "host":
		w.host(t, arg(1), arg(2), strings.Join(words[min(3, len(words)):], " "))
	case "promoted":
		w.promote(t)
	case "task":
		w.task(t, arg(1), arg(2), strings.Join(words[min(3, len(words)):], " "))
	case "checks": // what the newest run has found out about its hosts: SEVERITY ID NODE
		w.seen.Checks = &Checks{Run: w.newest(t).Name, Checks: contract.Checks{Findings: []contract.CheckFinding{
			{ID: arg(2), Severity: arg(1), Hosts: []string{arg(3)}, HostCount: 1, Message: "it was seen"},
		}}}
	case "progress":
		percent, _ := strconv.Atoi(arg(1))
		w.seen.Progress = &contract.Progress{Run: w.newest(t).Name, Percent: percent, Step: strings.Join(words[2:], " ")}
	case "run":
		w.end(t, arg(1), strings.Join(words[min(2, len(words)):], " "))
	case "cancelling":
		w.newest(t).Cancelling, w.newest(t).Superseded = true, w.last.Supersede
	case "cluster": // the installation
		w.describe()
		w.all(t)
		w.kubeconfig(t, "stored")
		w.describe()
	case "starts": // a run, up to its playbook
		w.advance(t)
		w.happen(t, []string{"created"})
		if contract.OperationOf(w.last.Operation).Has(contract.TaskSelectHosts) {
			w.claim()
			w.task(t, contract.TaskSelectHosts, "succeeds", "")
		}
		if contract.OperationOf(w.last.Operation).Has(contract.TaskKubespray) {
			w.task(t, contract.TaskKubespray, "runs", "")
		}
	case "advance":
		w.advance(t)
	case "done": // the run succeeds
		w.all(t)
	case "fails": // the playbook of the run fails: reason|host|step|message
		if w.seen.Newest() == nil || w.seen.Newest().State != Active {
			w.happen(t, []string{"starts"})
		}
		w.task(t, contract.TaskKubespray, "fails", rest)
		w.end(t, "fails", "Failed")
	case "backup", "restore", "proves", "begins", "key": // see story_restore_test.go
		w.restores(t, words[0], words[1:])
	case "looking": // the first looks at the cluster are not complete: yes or no
		w.seen.Looking = arg(1) == "yes"
	case "unpinned": // a user has deleted the SSH host keys of these members; none: they are pinned again
		w.seen.Unpinned = words[1:]
	case "backing-up": // the run of this Backup is active; empty: it has ended
		w.seen.BackingUp = arg(1)
	case "history", "software", "software-disruption", "software-unknown", "software-asked", "software-looked", "software-installed", "software-silent", "software-failed":
		w.softwares(t, words[0], words[1:])
	case "forgotten":
		w.seen.Runs = nil
		w.seen.Collected = false
	case "pruned":
		pruned := func(r Run) bool { return slices.Contains(w.last.Runs, r.Name) }
		w.seen.Runs, w.seen.Software.Runs = slices.DeleteFunc(w.seen.Runs, pruned), slices.DeleteFunc(w.seen.Software.Runs, pruned)
	case "kubeconfig":
		w.kubeconfig(t, arg(1))
	case "key-gone":
		w.seen.Collected = false
	default:
		t.Fatalf("a story cannot tell %q", words)
	}
}

// advance applies steps that come before a run: it deletes old runs and releases hosts.
func (w *scene) advance(t *testing.T) {
	for w.last.Do == Prune || w.last.Do == GiveBack || w.last.Do == StoreKubeconfig {
		for _, name := range w.last.Hosts {
			w.host(t, name, "free", "")
		}
		if w.last.Do == StoreKubeconfig {
			w.kubeconfig(t, "stored")
		}
		if w.last.Do == Prune {
			w.happen(t, []string{"pruned"})
		}
		w.describe()
	}
}

// all runs the chosen operation to its end.
func (w *scene) all(t *testing.T) {
	if w.seen.Last() == nil || w.seen.Last().State != Active {
		w.happen(t, []string{"starts"})
	}
	if contract.OperationOf(w.newest(t).Operation).Has(contract.TaskKubespray) {
		w.task(t, contract.TaskKubespray, "succeeds", "")
	}
	if contract.OperationOf(w.newest(t).Operation).Has(contract.TaskCollectKubeconfig) {
		w.task(t, contract.TaskCollectKubeconfig, "succeeds", "")
	}
	if contract.OperationOf(w.newest(t).Operation).Has(contract.TaskInstallSoftware) {
		w.task(t, contract.TaskInstallSoftware, "succeeds", "")
	} else if w.installsPlugins {
		w.task(t, contract.TaskInstallPlugins, "succeeds", "")
	}
	w.end(t, "succeeds", "")
}

func (w *scene) newest(t *testing.T) *Run {
	t.Helper()
	if w.seen.Last() == nil {
		t.Fatal("there is no run yet")
	}
	return w.seen.Last()
}

// edited simulates how observe compares the spec with that of the newest run.
func (w *scene) edited(digest string) {
	w.seen.Digest, w.seen.Inputs = digest, digest
	w.seen.Generation++
	if r := w.seen.Newest(); r != nil {
		w.seen.Edited = r.Inputs != digest
	}
}

// create simulates how the controller applies StartRun.
func (w *scene) create(t *testing.T) {
	if w.last.Do != StartRun {
		t.Fatalf("the story creates a run, but %+v was chosen", w.last)
	}
	if w.last.Operation == contract.OperationSoftware {
		w.createSoftware()
		return
	}
	w.seen.Runs = append(w.seen.Runs, Run{
		Enrolls: true,
		Name:    fmt.Sprintf("edge-1-%s-%d", w.last.Operation, w.last.Number), Number: w.last.Number, Attempt: w.last.Attempt,
		Operation: w.last.Operation, Replaces: w.last.Replaces, Restore: askedBy(w.last.Request), Plugins: contract.PluginsDigest(w.last.Request.Plugins),
		Digest: w.seen.Digest, Inputs: w.seen.Inputs, Generation: w.seen.Generation, Retry: w.seen.Retry, Started: w.now,
	})
	w.seen.Started, w.installsPlugins = w.last.Request, w.last.Plugins
	w.seen.ObservedRetry = w.seen.Retry
	if last := w.seen.LastChange(); last != nil && last.Number == w.last.Number {
		w.seen.Removal = w.last.Request.Remove
	}
	w.seen.Collected = w.seen.Collected && w.last.Operation != contract.OperationRestore
	if w.seen.Started.Operation = w.last.Operation; w.last.Request.Remove == nil || w.seen.Memory == nil {
		return
	}
	nodes := slices.Clone(w.seen.Memory.Nodes)
	for _, n := range w.seen.State().Unfinished {
		if slices.Contains(w.last.Request.Remove.Nodes, n.Name) {
			nodes = append(nodes, n)
		}
	}
	for _, n := range w.seen.Nodes {
		if n.Standby && w.seen.Site[n.Host].Ours {
			nodes = append(nodes, n)
		}
	}
	w.seen.Nodes = nodes
}

// rolesOf returns the roles of a node or of a node set: those with "master" in their names are
// control planes.
func rolesOf(name string) []string {
	if strings.Contains(name, "master") {
		return []string{contract.RoleControlPlane}
	}
	return []string{contract.RoleWorker}
}

// request makes the request of the spec.
func (w *scene) request() {
	w.seen.Request.Provisioning, w.seen.Request.Sets, w.seen.Request.Slots = "edge-1", w.seen.Sets, nil
	for _, name := range w.seen.Slots {
		w.seen.Request.Slots = append(w.seen.Request.Slots, contract.Slot{Name: name, Roles: rolesOf(name), MAC: w.macs[name]})
	}
}

// claim simulates select-hosts: a node keeps its host, a standby takes the place of a missing node of
// its set, and every other node gets a new host.
func (w *scene) claim() {
	before := slices.DeleteFunc(w.seen.nodes(), func(n contract.Node) bool { return !w.seen.Site[n.Host].Ours || w.seen.Site[n.Host].Lost })
	w.seen.Nodes = nil
	if w.seen.Memory == nil {
		w.seen.Site = map[string]Host{}
	}
	add := func(node contract.Node) {
		taken := func(name string) bool {
			h, known := w.seen.Site[name]
			return known && (h.Ours || h.Lost || h.Gone || h.Holder != "" || slices.Contains(w.seen.Started.PassedOver, name))
		}
		n := 1
		for taken(fmt.Sprintf("host-%d", n)) {
			n++
		}
		if pin := w.macs[node.Name]; pin != "" {
			n, _ = strconv.Atoi(strings.TrimPrefix(pin, "mac-of-host-"))
		}
		node.Host, node.Address, node.HostUID = fmt.Sprintf("host-%d", n), fmt.Sprintf("10.0.0.%d", n), fmt.Sprintf("uid-%d", n)
		node.Roles = rolesOf(node.Name)
		if len(w.macs) > 0 {
			node.MACs = []string{"mac-of-" + node.Host}
		}
		if uid := w.seen.Site[node.Host].UID; uid != "" { // it was deleted and created again
			node.HostUID = uid
		}
		w.seen.Site[node.Host] = Host{UID: node.HostUID, Ours: true, Claimed: true}
		w.seen.Nodes = append(w.seen.Nodes, node)
	}
	for _, slot := range w.seen.Started.Slots {
		if i := slices.IndexFunc(before, func(n contract.Node) bool { return n.Name == slot.Name }); i >= 0 {
			w.seen.Nodes = append(w.seen.Nodes, before[i])
			continue
		}
		add(contract.Node{Name: slot.Name})
	}
	for _, set := range w.seen.Started.Sets {
		number := 0
		for _, n := range slices.Concat(before, w.seen.Nodes) {
			if last, err := strconv.Atoi(strings.TrimPrefix(n.Name, set.Name+"-")); err == nil {
				number = max(number, last)
			}
		}
		old := slices.DeleteFunc(slices.Clone(before), func(n contract.Node) bool { return n.Set != set.Name })
		for n := range set.Active + set.Standby {
			if n < len(old) {
				old[n].Standby = n >= set.Active
				w.seen.Nodes = append(w.seen.Nodes, old[n])
				continue
			}
			number++
			add(contract.Node{Name: fmt.Sprintf("%s-%d", set.Name, number), Set: set.Name, Standby: n >= set.Active})
		}
	}
}

// remember simulates how the task kubespray writes the record. It removes nodes: those that the run
// names, and the last ones of a set that becomes smaller. Lost nodes that the run did not replace stay
// in the record.
func (w *scene) remember() {
	r := w.seen.Started
	nodes := slices.DeleteFunc(slices.Clone(w.seen.Nodes), func(n contract.Node) bool { return n.Standby })
	for _, n := range r.Members {
		if !slices.ContainsFunc(nodes, func(o contract.Node) bool { return o.Name == n.Name }) && !slices.Contains(r.Gone(), n.Name) {
			nodes = append(nodes, n)
		}
	}
	for _, name := range leaving(r.Remove) {
		nodes = slices.DeleteFunc(nodes, func(n contract.Node) bool {
			if n.Name == name && w.seen.Site[n.Host].Ours && !w.seen.Site[n.Host].Lost {
				w.seen.States[n.HostUID] = contract.HostClean
			}
			return n.Name == name
		})
	}
	stamped, before := contract.Installed{}, r.Members
	if w.seen.Memory != nil {
		stamped.Nodes, before = w.seen.Memory.Stamped(r), w.seen.Memory.Nodes
	}
	patched := r.Patched // of the first installation
	if w.seen.Memory != nil {
		patched = w.seen.Memory.Patched
	}
	record := &contract.Installed{Request: r.Spec, Patched: patched}
	w.restored(record)
	w.seen.Memory, w.seen.Rebuilt = record, false
	w.seen.Memory.Nodes, w.seen.Memory.EtcdNext = inventory.Members(r, nodes)
	contract.CopyTargets(w.seen.Memory.Nodes, before, r.Renewed())
	for i, n := range w.seen.Memory.Nodes { // lost nodes that stay are not nodes of the run
		if j := slices.IndexFunc(stamped.Nodes, func(o contract.Node) bool { return o.Name == n.Name }); j >= 0 && slices.Contains(r.Kept, n.Name) {
			w.seen.Memory.Nodes[i].Version, w.seen.Memory.Nodes[i].Settings = stamped.Nodes[j].Version, stamped.Nodes[j].Settings
			w.seen.Memory.Nodes[i].Patched = stamped.Nodes[j].Patched
		}
	}
	w.seen.Memory.SettlePatched()
}

// upgrade simulates how the task kubespray records the nodes that it has upgraded.
func (w *scene) upgrade(names []string) {
	memory := *w.seen.Memory
	r := w.seen.Started
	memory.Nodes = slices.Clone(memory.Nodes)
	memory.Draining = slices.DeleteFunc(slices.Clone(memory.Draining), func(name string) bool { return slices.Contains(names, name) })
	all := true
	for i, n := range memory.Nodes {
		if slices.Contains(names, n.Name) {
			memory.Nodes[i].Version, memory.Nodes[i].Settings, memory.Nodes[i].Target = r.KubernetesVersion, r.Settings(), nil
			if r.Upgrade.Patch != "" {
				memory.Nodes[i].Patched = r.Upgrade.Patch
			}
		}
		level, patch := memory.Lacks(memory.Nodes[i], r)
		all = all && !level && !patch
	}
	if all {
		memory.SettlePatched()
		memory.Request = r.Spec
		for i := range memory.Nodes {
			memory.Nodes[i].Version, memory.Nodes[i].Settings = "", ""
		}
	}
	w.seen.Memory, w.seen.Rebuilt = &memory, false
}

// leaving returns the names of the nodes that a run removes.
func leaving(r *contract.Removal) []string {
	if r == nil {
		return nil
	}
	names := slices.Clone(r.Nodes)
	for _, set := range r.Sets {
		for _, c := range set.Candidates[len(set.Candidates)-set.Count:] {
			names = append(names, c.Node)
		}
	}
	return names
}

// needs simulates how observe finds out whether a removal must come first, because there is no host
// for new nodes, or whether an upgrade goes on without a host for lost nodes.
func (w *scene) needs() Seen {
	s := w.seen
	removes := func() bool {
		step, starts := Upcoming(s, w.now)
		return starts && step.Request.Remove != nil
	}
	if s.Hosts == nil || s.Hosts.Missing == "" || s.Memory == nil {
		return s
	}
	if step, starts := Upcoming(s, w.now); !starts || step.NeedsNoHosts() {
		s.Hosts = &Need{}
		return s
	}
	if s.RemoveFirst = false; !removes() {
		s.RemoveFirst = true
	}
	if removes() {
		s.Hosts = &Need{}
		return s
	}
	s.RemoveFirst = false
	if without, ok := WithoutSpare(s, s.Hosts.Missing, w.now); ok {
		without.Hosts = &Need{}
		return without
	}
	return s
}

// beside simulates how observe finds out what waits for the end of a run.
func (w *scene) beside() *Step {
	without, ok := Beside(w.seen)
	if !ok {
		return nil
	}
	if step, starts := Upcoming(without, w.now); !starts || !without.Waits(step) {
		return nil
	}
	now := w.seen
	defer func() { w.seen = now }()
	w.seen = without
	w.seen.Site = maps.Clone(w.seen.Site)
	w.ask()
	needs := w.needs()
	if next := Next(needs, w.now); needs.Waits(next) {
		return &next
	}
	return nil
}

// host changes one host of the site.
func (w *scene) host(t *testing.T, name, what, text string) {
	h := w.seen.Site[name]
	switch what {
	case "gone":
		h = Host{Gone: true}
	case "free":
		h.Ours, h.Claimed, h.Holder = false, false, ""
	case "taken":
		h.Ours, h.Claimed, h.Holder = false, false, text
	case "anew":
		h = Host{UID: w.seen.Site[name].UID + "-anew"}
	case "lost":
		h.Lost, h.Trouble, h.Quarantined = true, text, strings.HasPrefix(text, "in quarantine")
	case "trouble":
		h.Trouble = text
	case "wiped":
		h.Lost, h.Wiped, h.Trouble = true, true, "wiped: Metal3 has removed its operating system, or is doing so (deprovisioning)"
	case "well":
		h.Lost, h.Wiped, h.Trouble, h.Quarantined = false, false, "", false
	case "bare":
		h.Ours, h.Claimed, h.Bare = true, true, true
	case "imaging":
		h.Ours, h.Claimed, h.Bare, h.Imaged = true, true, true, true
	case "imaged":
		h.Ours, h.Claimed, h.Bare, h.Imaged = true, true, false, true
	case "held":
		h.Ours, h.Claimed, h.Bare = true, true, false
	case "bmc": // Metal3 can power it off
		h.PowerManaged = true
	case "fenced": // the controller has applied Fence
		h.FencedAt = w.now
	case "off":
		h.SwitchedOff = true
	case "unfenced": // the controller has powered it on again
		h.FencedAt, h.SwitchedOff = time.Time{}, false
	case "stays-on": // Metal3's error
		h.FenceFailed = text
	case "earlier": // an earlier Provisioning of this name claimed it
		h.Ours, h.Claimed = true, false
	default:
		t.Fatalf("a host cannot be %q", what)
	}
	if w.seen.Site == nil {
		w.seen.Site = map[string]Host{}
	}
	w.seen.Site[name] = h
}

// health sets what the looks have shown. A word such as worker-1=NotReady:KubeletNotReady is a node; all
// others are Ready.
func (w *scene) health(t *testing.T, what string, words []string) {
	h := &Health{Report: health.Report{API: health.APIAnswers, Since: w.now, Nodes: map[string]health.NodeReport{}}}
	switch what {
	case "unknown":
		w.seen.Health = nil
		return
	case "unchecked":
		h.API, h.Unchecked = health.APIUnknown, strings.Join(words, " ")
	case "silent":
		h.API, h.Text = health.APISilent, strings.Join(words, " ")
	case "answers":
		names, _ := w.seen.WatchedNodes()
		for _, name := range names {
			h.Nodes[name] = health.NodeReport{State: health.NodeReady, Since: w.now, Version: "1.35.4"}
		}
		for _, word := range words {
			name, state, _ := strings.Cut(word, "=")
			state, text, _ := strings.Cut(state, ":")
			h.Nodes[name] = health.NodeReport{State: health.NodeState(state), Since: w.now, Version: "1.35.4", Text: strings.ReplaceAll(text, "_", " "), Unschedulable: state == "Ready"}
		}
	default:
		t.Fatalf("a cluster cannot be %q", what)
	}
	w.seen.Health = h
}

// promote simulates select-hosts in a cluster with lost workers: a standby of the set replaces each
// lost worker. A lost host that is not claimed any more is removed from the site.
func (w *scene) promote(t *testing.T) {
	for _, l := range w.seen.lostWorkers() {
		standby := slices.IndexFunc(w.seen.Nodes, func(n contract.Node) bool { return n.Standby && n.Set == l.Node.Set })
		if standby < 0 {
			t.Fatalf("no standby for %s", l.Node.Name)
		}
		w.seen.Nodes[standby].Standby = false
		w.seen.Nodes = slices.DeleteFunc(w.seen.Nodes, func(n contract.Node) bool { return n.Name == l.Node.Name })
		if !w.seen.Site[l.Node.Host].Ours {
			delete(w.seen.Site, l.Node.Host)
		}
	}
}

// ask simulates how observe asks the API server itself about the hosts, if a run may start.
func (w *scene) ask() {
	live := Starting(w.seen, w.now)
	for name, h := range w.seen.Site {
		h.Live = live
		w.seen.Site[name] = h
	}
}

func (w *scene) task(t *testing.T, name, state, text string) {
	r := w.newest(t)
	if contract.ChangesHosts(name) && state != "refuses" {
		r.Touched = true
		w.use()
	}
	if r.task(name) == nil {
		r.Tasks = append(r.Tasks, Task{Name: name, Results: map[string]string{}})
	}
	task := r.task(name)
	switch state {
	case "runs":
	case "succeeds":
		task.State, task.Reason = Succeeded, "Succeeded"
		if name == contract.TaskSeedRegistry {
			task.Results[contract.ResultArtifacts] = "all 22 artifacts are in the depot"
		}
		if name == contract.TaskRenderInventory {
			task.Results[contract.ResultInventoryDigest] = "sha256:inventory"
		}
		if name == contract.TaskKubespray {
			task.Results[contract.ResultRecap] = "2 nodes: ok=80 changed=12 failed=0 unreachable=0 in 94s"
			if leave := leaving(w.seen.Started.Remove); len(leave) > 0 {
				task.Results[contract.ResultRecap] = fmt.Sprintf("%s removed: %s", plural(len(leave), "node"), strings.Join(leave, ", "))
			}
			if u := w.seen.Started.Upgrade; u != nil {
				task.Results[contract.ResultRecap] = fmt.Sprintf("%s upgraded to %s", strings.Join(u.Nodes, ", "), w.seen.Started.KubernetesVersion)
				switch {
				case u.Narrow != nil:
					task.Results[contract.ResultRecap] = "variables " + strings.Join(u.Narrow.Variables, ", ") + " applied, without a drain"
				case u.From == w.seen.Started.KubernetesVersion && !w.seen.Started.OnlyPatches():
					task.Results[contract.ResultRecap] = strings.Join(u.Nodes, ", ") + " configured"
				case w.seen.Started.OnlyPatches():
					task.Results[contract.ResultRecap] = strings.Join(u.Nodes, ", ") + " patched"
				}
				w.upgrade(u.Nodes)
			} else if w.seen.Recorded && !r.resets() {
				w.remember()
			}
		}
		if name == contract.TaskInstallPlugins {
			w.pluginsSucceed()
		}
		if name == contract.TaskInstallSoftware {
			w.softwareSucceeds(t)
		}
		if name == contract.TaskCollectKubeconfig {
			task.Results[contract.ResultEndpoint] = "https://10.0.0.1:6443"
			w.seen.Collected = true
		}
	case "fails", "refuses": // the task reports the failure itself: reason|host|step|message
		task.State, task.Reason = Failed, "Failed"
		parts := strings.SplitN(text, "|", 4)
		reason, accelerated := strings.CutPrefix(parts[0], "accelerated ")
		task.Failure = &contract.Failure{Reason: contract.Reason(reason), Accelerated: accelerated, Host: parts[1], Step: parts[2], Message: parts[3]}
	case "dies": // only Tekton reports the failure: reason and message
		task.State = Failed
		task.Reason, task.Message, _ = strings.Cut(text, " ")
	default:
		t.Fatalf("a task cannot %q", state)
	}
}

// use simulates how the task kubespray records that it is about to change the hosts of all nodes,
// and how the controller then marks these hosts.
func (w *scene) use() {
	for name, h := range w.seen.Site {
		standby := slices.ContainsFunc(w.seen.Nodes, func(n contract.Node) bool { return n.Host == name && n.Standby })
		if w.seen.Recorded && h.Ours && !standby && w.seen.States[h.UID] != contract.HostUsed {
			w.seen.States[h.UID], h.Marked = contract.HostUsed, true
			w.seen.Site[name] = h
		}
	}
}

func (w *scene) end(t *testing.T, how, reason string) {
	r := w.newest(t)
	r.Completed = w.now
	switch how {
	case "succeeds":
		r.State, r.Reason = Succeeded, "Succeeded"
	case "fails":
		r.State = Failed
		r.Reason, r.Message, _ = strings.Cut(reason, " ")
	default:
		t.Fatalf("a run cannot %q", how)
	}
}

func (w *scene) kubeconfig(t *testing.T, state string) {
	switch state {
	case "stored":
		w.seen.Kubeconfig = &Kubeconfig{Endpoint: "https://10.0.0.1:6443", Expires: w.now.Add(365 * 24 * time.Hour)}
	case "gone":
		w.seen.Kubeconfig = nil
	case "broken":
		w.seen.Kubeconfig = &Kubeconfig{Broken: "no usable current context"}
	default:
		t.Fatalf("a kubeconfig cannot be %q", state)
	}
}

// describe calls Next and Report twice, because a second reconcile of the same state must not
// change anything. It returns the step and the status as text.
func (w *scene) describe() string {
	before := w.p.Status.DeepCopy()
	w.request()
	if w.seen.Memory == nil {
		w.seen.Rebuilt = true
	}
	w.seen.Restored = w.p.Status.Restore
	w.seen.Remember(nil)
	w.p.Generation = w.seen.Generation
	w.lookForBackups()
	w.ask()
	if s := w.p.Status.Software; s != nil {
		w.seen.Software.Answered = s.Asked
	}
	seen := w.needs()
	seen.Beside = w.beside()
	w.last = Next(seen, w.now)
	Report(w.p, seen, w.last, nil, nil, w.now)
	w.seen.InstalledDigest, w.seen.PassedOver, w.seen.Restored = w.p.Status.InstalledDigest, w.p.Status.PassedOver, w.p.Status.Restore
	w.p.Status.ObservedGeneration = w.seen.Generation // knative's reconciler does this
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }

	say("%s", describeStep(w.last))
	status := &w.p.Status
	ready := status.GetCondition(v1alpha1.ConditionReady)
	for _, t := range []string{"Ready", "HostsClaimed", "ClusterInstalled", "KubeconfigReady"} {
		for _, c := range status.Conditions {
			if w.brief && t != "Ready" && (c.Message == ready.Message || t != "ClusterInstalled" && c.IsTrue()) {
				continue
			}
			if string(c.Type) == t && c.IsTrue() && c.Reason == "" {
				say("  %-16s True", t)
			} else if string(c.Type) == t {
				say("  %-16s %s %s: %s", t, c.Status, c.Reason, c.Message)
			}
		}
	}
	if f := status.Failure; f != nil && !cmp.Equal(f, before.Failure) {
		say("  failure          %s", describeFailure(f))
	}
	for _, c := range status.Conditions {
		names := strings.Contains(c.Message, "see status.failure")
		if f := status.Failure; names && f == nil || f != nil && f.Message != "" && strings.Contains(c.Message, f.Message) {
			say("  NOT ONE HOME     %s: %s", c.Type, c.Message)
		}
	}
	if q := status.Queue; q != nil {
		say("  queue            since %s, place %d of %d", q.Since.UTC().Format("15:04:05"), q.Place, q.Length)
	}
	if u := status.Upgrade; u != nil {
		patch := ""
		if u.Patch != "" {
			patch = ", patch " + u.Patch
		}
		if u.OnlyPatch {
			patch += " only"
		}
		say("  upgrade          %s to %s, hop %s%s, %d of %d: %s", u.From, u.To, u.Hop, patch, u.Done, u.Total, u.Message)
	}
	if status.Patched != "" {
		say("  patched          %s", status.Patched)
	}
	if r := status.Restore; r != nil {
		say("  restore          %s", describeRestore(*r))
	}
	if p := status.Progress; p != nil {
		end := ""
		if p.EstimatedEnd != nil {
			end = ", done at " + p.EstimatedEnd.UTC().Format("15:04:05")
		}
		say("  progress         %s", strings.TrimRight(p.Summary+" "+p.Step, " ")+end)
	}
	if c := w.p.Status.Checks; c != nil {
		say("  checks           %s of %s", c.Summary, c.Run)
	}
	for _, n := range status.Nodes {
		seen := n.Message
		if n.Since != nil {
			seen += " since " + n.Since.UTC().Format("15:04:05")
		}
		if n.Unschedulable {
			seen += ", cordoned"
		}
		if n.Version != "" {
			seen += " (" + n.Version + ")"
		}
		say("  node             %s on %s %s %s", n.Name, n.Host, n.State, strings.TrimSpace(n.Problem+" "+seen))
	}
	for _, h := range status.PassedOver {
		say("  passed over      %s %s: %s", h.Host, h.Reason, h.Message)
	}
	if c := status.GetCondition(v1alpha1.ConditionArtifactsAvailable); c.IsFalse() || !w.brief && c.IsTrue() && c.Reason == reasonAvailable {
		say("  Artifacts        %s %s: %s", c.Status, c.Reason, c.Message)
	}
	w.describePlugins(say)
	w.describeSoftware(say)
	if c := status.GetCondition(v1alpha1.ConditionStalled); c != nil {
		say("  Stalled          %s %s", c.Status, c.Reason)
	}
	for _, t := range []apis.ConditionType{v1alpha1.ConditionClusterHealthy, v1alpha1.ConditionCertificatesValid} {
		c := status.GetCondition(t)
		if w.seen.Health != nil && c.Reason != v1alpha1.ReasonWaiting && c.Message != ready.Message || c.Reason == v1alpha1.ReasonNodesNotReady && c.Message != ready.Message {
			say("  %-16s %s %s: %s", t, c.Status, c.Reason, c.Message)
		}
	}
	if c := status.GetCondition(v1alpha1.ConditionHostsHealthy); c.IsFalse() {
		say("  HostsHealthy     %s %s: %s", c.Status, c.Reason, c.Message)
	}
	for _, e := range Events(before, status) {
		say("  event            %s %s: %s", e.Type, e.Reason, e.Message)
	}
	again, later := w.p.DeepCopy(), w.now
	if w.last.After == 0 || w.last.After > time.Second {
		later = later.Add(time.Second)
	}
	Report(again, seen, w.last, nil, nil, later)
	if diff := cmp.Diff(w.p.Status, again.Status); diff != "" {
		say("  NOT STEADY (-first +second visit):\n%s", diff)
	}
	for i, line := range out {
		out[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(out, "\n")
}

// TestLongStepIsCut: the name of the step comes from a ConfigMap, which can contain any text.
func TestLongStepIsCut(t *testing.T) {
	w := newScene()
	w.seen.Runs = []Run{{Name: "edge-1-install-1", Tasks: []Task{
		{Name: contract.TaskSelectHosts, State: Succeeded}, {Name: contract.TaskRenderInventory, State: Succeeded}, {Name: contract.TaskKubespray},
	}}}
	w.seen.Progress = &contract.Progress{Run: "edge-1-install-1", Percent: 50, Step: strings.Repeat("ä", 1000)}
	w.describe()
	step := w.p.Status.Progress.Step
	if len(step) > longestStep || !strings.HasPrefix(step, "ää") || !strings.HasSuffix(step, "ä...") {
		t.Errorf("step of %d bytes: %q", len(step), step)
	}
}

// describeFailure returns all fields of a failure.
func describeFailure(f *v1alpha1.FailureStatus) string {
	next := "none"
	if f.NextAttempt != nil {
		next = f.NextAttempt.UTC().Format(time.TimeOnly)
	}
	parts := slices.DeleteFunc([]string{f.Reason, f.Task, f.Host, f.Step, f.Message}, func(s string) bool { return s == "" })
	return fmt.Sprintf("%s; next attempt: %s; hint: %s", strings.Join(parts, ": "), next, f.Hint)
}

func describeStep(s Step) string {
	text := string(s.Do)
	if s.Do == StartRun {
		text += fmt.Sprintf(" number %d, attempt %d", s.Number, s.Attempt)
		if s.Operation != contract.OperationInstall {
			text += strings.TrimRight(fmt.Sprintf(" to %s %s", s.Operation, strings.Join(s.Replaces, ", ")), " ")
		}
		if s.Played != "" {
			text += ", played " + s.Played
		}
		if s.Request.Unaccelerated != "" {
			text += ", without acceleration"
		}
	}
	if len(s.Runs) > 0 {
		text += " " + strings.Join(s.Runs, ", ")
	}
	if len(s.Hosts) > 0 {
		text += " " + strings.Join(s.Hosts, ", ")
	}
	if s.After > 0 {
		text += ", look again after " + s.After.String()
	}
	return text
}
