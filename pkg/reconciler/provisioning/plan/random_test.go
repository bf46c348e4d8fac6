package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

var someReasons = []contract.Reason{
	contract.ReasonHostsNotAvailable, contract.ReasonHostUnreachable, contract.ReasonPlaybookFailed, contract.ReasonAPIUnavailable,
	contract.ReasonCancelled, contract.ReasonTimeout, contract.ReasonClusterUnhealthy, contract.ReasonResetIncomplete, "",
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func randomNeed(r *rand.Rand) *Need {
	return pick(r, nil, &Need{}, &Need{}, &Need{Missing: "something"})
}

// randomWorld returns a random state, likely or not: the properties of Next must hold for every
// state.
func randomWorld(r *rand.Rand, now time.Time) Seen {
	s := Seen{
		Name: "edge-1", Deleting: r.IntN(3) == 0, Paused: r.IntN(5) == 0, Slots: []string{"a", "b"},
		Digest: pick(r, "one", "two"), Inputs: pick(r, "one", "two"), Retry: pick(r, "", "x"),
		Invalid:   pick(r, "", "", "", "bad"),
		Settings:  pick(r, "", "", "", "", "bad"),
		Depot:     pick(r, "", "", "", "", "plain HTTP"),
		Leftovers: pick(r, nil, nil, nil, []string{"old"}),
		Pods:      pick(r, nil, nil, []string{"pod"}),
		Hosts:     randomNeed(r), SSH: randomNeed(r),
		Collected:       r.IntN(2) == 0,
		Generation:      int64(1 + r.IntN(2)),
		KeyChanged:      r.IntN(5) == 0,
		Edited:          r.IntN(2) == 0,
		InstalledDigest: pick(r, "", "", "one"),
		Limits:          Limits{Attempts: 3, History: 1 + r.IntN(3)},
	}
	for n := range r.IntN(5) {
		run := Run{
			Name: fmt.Sprintf("edge-1-install-%d", n+1), Number: int32(n + 1), Attempt: int32(1 + r.IntN(4)), Operation: "install",
			Digest: pick(r, "one", "two"), Inputs: pick(r, "one", "two"), Retry: pick(r, "", "x"),
			Touched: r.IntN(2) == 0, Generation: int64(r.IntN(3)), Superseded: r.IntN(6) == 0,
			State: pick(r, Active, Succeeded, Failed, Failed), Cancelling: r.IntN(4) == 0,
			Started: now.Add(-time.Hour),
		}
		if run.State != Active {
			run.Completed = now.Add(-time.Duration(r.IntN(600)) * time.Second)
		}
		if n > 0 && r.IntN(3) == 0 {
			run.Operation, run.Replaces = pick(r, contract.OperationAddNodes, contract.OperationAddNodes, contract.OperationPlugins), pick(r, nil, []string{"w-1=h3"}, []string{"w-1=h3", "w-2=h4"})
		}
		if s.Deleting && r.IntN(3) == 0 {
			run.Operation = contract.OperationReset
		}
		for _, name := range []string{contract.TaskSelectHosts, contract.TaskKubespray, contract.TaskCollectKubeconfig, contract.TaskInstallPlugins}[:r.IntN(5)] {
			task := Task{Name: name, State: pick(r, Active, Succeeded, Failed)}
			if reason := pick(r, someReasons...); reason != "" {
				task.Failure = &contract.Failure{Reason: reason, Host: "a"}
			}
			run.Tasks = append(run.Tasks, task)
		}
		s.Runs = append(s.Runs, run)
	}
	if r.IntN(5) == 0 {
		s.ForeignRuns = []Run{{Name: "by-hand", State: Active, Cancelling: r.IntN(2) == 0}}
	}
	if r.IntN(3) == 0 {
		s.Kubeconfig = &Kubeconfig{Endpoint: "https://x", Expires: now.Add(time.Duration(r.IntN(3)-1) * time.Hour), Broken: pick(r, "", "", "bad")}
	}
	if r.IntN(2) == 0 {
		s.Sets = []contract.Set{{Name: "w", Active: 2, Standby: 1}}
	}
	if r.IntN(4) > 0 {
		s.Nodes = []contract.Node{
			{Name: "a", Host: "h1", HostUID: "u", Roles: []string{contract.RoleControlPlane, contract.RoleWorker}},
			{Name: "b", Host: "h2", Roles: []string{contract.RoleWorker}},
			{Name: "w-1", Host: "h3", Set: "w", Roles: []string{contract.RoleWorker}},
			{Name: "w-2", Host: "h4", HostUID: "u", Set: "w", Roles: []string{contract.RoleWorker}},
			{Name: "w-3", Host: "h5", Set: "w", Standby: true, Roles: []string{contract.RoleWorker}},
		}[:1+r.IntN(5)]
	}
	s.Touched, s.Recorded, s.Retain = r.IntN(3) == 0, r.IntN(4) > 0, r.IntN(4) == 0
	s.Terminating = r.IntN(9) == 0
	if r.IntN(4) == 0 {
		s.Queue = &Queue{Limit: 1 + r.IntN(3), Active: []string{"x", "y", "z"}[:r.IntN(4)], Elsewhere: r.IntN(2), Ahead: r.IntN(3), Length: 4, Since: now}
	}
	if s.Recorded {
		s.States = contract.HostStates{}
		for _, uid := range []string{"u", "v"}[:r.IntN(3)] {
			s.States[uid] = pick(r, contract.HostUsed, contract.HostClean)
		}
	}
	s.Site = map[string]Host{}
	for _, name := range []string{"h1", "h2", "h3", "h4", "h5", "h6"}[:r.IntN(7)] {
		s.Site[name] = randomHost(r)
	}
	if r.IntN(2) == 0 {
		randomCluster(r, &s)
	}
	if r.IntN(2) == 0 {
		randomPlugins(r, &s)
	}
	if r.IntN(4) == 0 {
		randomSoftware(r, &s, now)
	}
	return s
}

// randomCluster makes the world one with a record of an installed cluster, which the user may have
// edited.
func randomCluster(r *rand.Rand, s *Seen) {
	roles := map[string][]string{"a": {contract.RoleControlPlane}, "c": {contract.RoleControlPlane}, "d": {contract.RoleControlPlane}}
	slot := func(name string) contract.Slot {
		slot := contract.Slot{Name: name, Roles: roles[name]}
		if slot.Roles == nil {
			slot.Roles = []string{contract.RoleWorker}
		}
		if r.IntN(9) == 0 {
			slot.MAC = "02:00:00:00:00:0" + name
		}
		return slot
	}
	s.Memory, s.Nodes, s.Slots, s.Sets = &contract.Installed{}, nil, nil, nil
	s.Replace = pick(r, "", v1alpha1.ReplaceAny, v1alpha1.ReplaceNever, v1alpha1.ReplaceStandby)
	s.RemoveFirst, s.NoSpare = r.IntN(3) == 0, pick(r, "", "", "", "no host fits")
	s.Memory.Request.PodSubnet, s.Memory.Request.KubernetesVersion = "one", "1.34.3"
	s.Request.KubernetesVersion = pick(r, "1.34.3", "1.34.3", "1.33.0", "1.35.4", "1.35.4")
	s.Upgrade.PauseAfterControlPlane = r.IntN(4) == 0
	if r.IntN(3) == 0 {
		s.Request.Vars = map[string]json.RawMessage{"dns_memory_limit": json.RawMessage("1")}
	}
	for i, name := range []string{"a", "b", "c", "d", "e"}[:1+r.IntN(5)] {
		was := slot(name)
		s.Memory.Request.Slots = append(s.Memory.Request.Slots, was)
		s.Memory.Nodes = append(s.Memory.Nodes, contract.Node{Name: name, Roles: was.Roles, Host: fmt.Sprintf("h%d", i+1), HostUID: "u"})
		if r.IntN(6) > 0 || i == 0 {
			s.Slots, s.Request.Slots = append(s.Slots, name), append(s.Request.Slots, slot(name))
		}
	}
	set := contract.Set{Name: "w", Roles: []string{contract.RoleWorker}, Active: r.IntN(3), Standby: r.IntN(2)}
	if r.IntN(3) == 0 { // an upgrade is under way
		for i, n := range s.Memory.Nodes {
			if controlPlane(n) {
				s.Memory.Nodes[i].Version = "1.35.4"
			}
		}
	}
	s.Request.Patched, s.Memory.Patched = pick(r, "", "", "monday"), pick(r, "", "sunday", "monday")
	if n := &s.Memory.Nodes[len(s.Memory.Nodes)-1]; r.IntN(5) == 0 { // a patch is under way, or was taken back
		n.Target = &contract.Target{Patch: "monday"}
	}
	s.Memory.Request.Sets = []contract.Set{set}
	for i := range set.Active {
		s.Memory.Nodes = append(s.Memory.Nodes, contract.Node{Name: fmt.Sprintf("w-%d", i+1), Set: "w", Roles: set.Roles, Host: fmt.Sprintf("h%d", i+6), HostUID: "u"})
	}
	s.Nodes = append(slices.Clone(s.Memory.Nodes), contract.Node{Name: "w-9", Set: "w", Roles: set.Roles, Host: "h9", HostUID: "u", Standby: true},
		contract.Node{Name: "f", Roles: set.Roles, Host: "h10", HostUID: "v"})
	set.Active, set.Standby = pick(r, set.Active, set.Active, r.IntN(4)), r.IntN(2)
	s.Sets, s.Request.Sets = []contract.Set{set}, []contract.Set{set}
	if r.IntN(5) == 0 {
		s.Slots, s.Request.Slots = append(s.Slots, "f"), append(s.Request.Slots, slot("f"))
	}
	s.Request.PodSubnet = pick(r, "one", "one", "one", "one", "one", "two")
	s.Memory.Draining, s.Memory.Leaving = pick(r, nil, nil, nil, []string{"b"}), pick(r, nil, nil, nil, nil, []string{"e"})
	for i := range 10 {
		name := fmt.Sprintf("h%d", i+1)
		if s.Site[name] = (Host{UID: "u", Ours: true, Claimed: true, Live: r.IntN(2) == 0}); r.IntN(6) == 0 {
			s.Site[name] = randomHost(r)
		}
	}
	if s.Recorded {
		s.States = contract.HostStates{"u": contract.HostUsed, "v": pick(r, contract.HostUsed, contract.HostClean)}
	}
	if r.IntN(4) > 0 { // nothing keeps a run from starting
		s.Deleting, s.Paused, s.Invalid, s.Settings, s.Depot, s.Leftovers, s.Hosts, s.SSH = false, false, "", "", "", nil, &Need{}, &Need{}
		s.Runs = slices.DeleteFunc(s.Runs, func(r Run) bool { return r.State == Active || r.resets() })
	}
	randomRestore(r, s)
	for i := range s.Runs {
		if r.IntN(2) == 0 {
			s.Runs[i].Operation = pick(r, contract.OperationAddNodes, contract.OperationAddControlPlane, contract.OperationRemoveNodes, contract.OperationRemoveControlPlane)
			if r.IntN(4) == 0 {
				s.Runs[i].Operation, s.Runs[i].Restore = contract.OperationRestore, pick(r, s.Restore, "b-0")
			}
		}
		if r.IntN(2) == 0 {
			s.Runs[i].Digest, s.Runs[i].Inputs, s.Runs[i].Retry = s.Digest, s.Inputs, s.Retry
		}
	}
}

// randomRestore requests a restore, or lets one be complete or half done.
func randomRestore(r *rand.Rand, s *Seen) {
	if r.IntN(4) > 0 {
		return
	}
	s.Restore, s.Request.DepotURL = pick(r, "", "b-1", "b-1 force", "b-1 force again"), "https://depot"
	s.Memory.Restoring, s.Memory.Restored = pick(r, "", "", "", "b-1"), pick(r, "", "", "b-1", "b-0")
	s.Memory.RestoredBefore, s.Proved = pick(r, nil, nil, []string{"b-1 force"}), pick(r, "", "", "b-1", "b-9")
	for _, n := range s.Memory.Nodes {
		if h := s.Site[n.Host]; h.Ours && controlPlane(n) && r.IntN(2) == 0 {
			h.Lost, h.Trouble, h.PowerManaged = true, "in quarantine", r.IntN(2) == 0
			s.Site[n.Host] = h
		}
	}
	b := &v1alpha1.Backup{}
	b.Name, b.Spec.Provisioning = "b-1", s.Name
	b.Status = v1alpha1.BackupStatus{Artifact: "x/backup-b-1", SHA256: "abc", Recipient: "age1", KubernetesVersion: pick(r, "", "1.34.3", "1.34.3", "1.35.4", "1.32.0")}
	b.Status.MarkSucceeded(pick(r, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse), "x", "")
	if s.Source.Backup = b; r.IntN(9) == 0 {
		s.Source.Key = "another key"
	}
}

// runsOn reports whether Metal3 can power off a lost control plane that the restore does not use again, and
// is not off. Metal3 powers every host of these worlds off at once.
func runsOn(s Seen, r contract.Request) bool {
	return slices.ContainsFunc(s.losses(), func(l Loss) bool {
		h := s.Site[l.Node.Host]
		return slices.Contains(r.Gone(), l.Node.Name) && h.Ours && h.Claimed && h.Lost && h.PowerManaged && !h.SwitchedOff
	})
}

// harmfulRestore describes why a restore must not be started. It is empty if it may.
func harmfulRestore(s Seen, step Step) string {
	r, b := step.Request, s.Source.Backup
	_, force := RestoreFrom(s.Restore)
	switch {
	case r.Restore == nil || r.Restore.Asked == "" || s.Memory.WasRestored(r.Restore.Asked) && s.Memory.Restoring == "":
		return "a restore starts that nobody requests"
	case s.quorum() && !force && s.Memory.Restoring == "":
		return "a restore replaces a content of etcd that is not lost"
	case !b.Status.IsSucceeded() || s.Source.Key != "" || r.Restore.Backup != b.Name:
		return "a Backup is restored that cannot be read"
	case b.Status.KubernetesVersion != "" && b.Status.KubernetesVersion != r.KubernetesVersion && !(upgrade.SameMinor(b.Status.KubernetesVersion, r.KubernetesVersion) &&
		upgrade.Compare(b.Status.KubernetesVersion, r.KubernetesVersion) < 0):
		return "the control planes do not get the version of the backup, or a newer patch"
	case r.Restore.Fenced != !runsOn(s, r):
		return "the run does not know whether lost control planes may run"
	case len(r.Members) != len(s.Memory.Nodes) || r.PodSubnet != "one" || r.Remove != nil || r.Upgrade != nil:
		return "the request does not describe the cluster"
	}
	planes := 0
	for _, n := range s.Memory.Nodes {
		requested := slices.ContainsFunc(r.Slots, func(w contract.Slot) bool { return w.Name == n.Name }) || n.Set != ""
		lost := slices.ContainsFunc(s.losses(), func(l Loss) bool { return l.Node.Name == n.Name && !l.Node.Standby })
		planes += oneIf(requested && controlPlane(n))
		switch {
		case !lost && (!requested || slices.Contains(r.Lost, n.Name)):
			return "the living node " + n.Name + " is not in the request"
		case lost && !controlPlane(n) && (!slices.Contains(r.Kept, n.Name) || !slices.Contains(r.PassedOver, n.Host)):
			return "the lost worker " + n.Name + " does not stay"
		case lost && controlPlane(n) && slices.Contains(s.Slots, n.Name) && !requested:
			return "the control plane " + n.Name + ", which is requested, is not replaced"
		case lost && controlPlane(n) && !slices.Contains(step.Replaces, Loss{Node: n}.Key()):
			return "the lost control plane " + n.Name + " is not fenced"
		}
	}
	if planes == 0 {
		return "no control plane is left"
	}
	return ""
}

// harmfulChange describes why a run must not be started in a cluster with a record. It is empty if the
// run may start.
func harmfulChange(s Seen, step Step) string {
	r := step.Request
	o := contract.OperationOf(step.Operation)
	switch {
	case step.Operation == contract.OperationRestore:
		return harmfulRestore(s, step)
	case s.RestoreAsked() != "":
		return "another run starts although a restore is requested"
	case !o.ChangesCluster() && !slices.Contains([]string{contract.OperationCollect, contract.OperationPlugins, contract.OperationSoftware}, step.Operation):
		return "a complete cluster is installed again"
	case !o.ChangesCluster():
		return ""
	case s.Request.PodSubnet != "one":
		return "a run starts although the cluster cannot become the requested one"
	case r.Operation != step.Operation || len(r.Members) != len(s.Memory.Nodes) || r.PodSubnet != "one":
		return "the request does not describe the cluster"
	case !s.quorum():
		return "a run starts although etcd has no majority"
	}
	if u := r.Upgrade; u != nil {
		for _, l := range s.losses() {
			if controlPlane(l.Node) && !l.Node.Standby || u.Narrow == nil && slices.Contains(u.Nodes, l.Node.Name) {
				return "a node is upgraded while " + l.Node.Name + " is lost"
			}
		}
	}
	leave := map[string]bool{}
	for _, name := range removed(r.Remove) {
		leave[name] = true
	}
	planes := 0
	for _, n := range s.Memory.Nodes {
		l := slices.IndexFunc(s.losses(), func(l Loss) bool { return l.Node.Name == n.Name && !l.Node.Standby })
		planes += oneIf(controlPlane(n) && l < 0 && !(leave[n.Name] && controlPlane(n)))
		moved := slices.ContainsFunc(s.Request.Slots, func(w contract.Slot) bool { return w.Name == n.Name && w.MAC != "" })
		kept := n.Set == "" && slices.Contains(s.Slots, n.Name) && !moved || n.Set != "" && s.Sets[0].Active >= active(s.Memory.Nodes, "w")
		if leave[n.Name] && kept && !slices.Contains(s.Memory.Leaving, n.Name) {
			return "node " + n.Name + ", which is requested, is removed"
		}
		if l >= 0 && controlPlane(n) && slices.Contains(step.Replaces, s.losses()[l].Key()) && !s.mayReplace(s.losses()[l]) {
			return "control plane " + n.Name + " is replaced without permission"
		}
	}
	if planes == 0 {
		return "no control plane is left"
	}
	if newest := s.Newest(); newest != nil && newest.State == Succeeded && !s.asked() {
		for _, key := range step.Replaces {
			i := slices.IndexFunc(s.losses(), func(l Loss) bool { return l.Key() == key })
			if loss := s.losses()[i]; !loss.Sure || !s.mayReplace(loss) || slices.Contains(newest.Replaces, key) {
				return "a host is replaced on a rumour, without permission or twice: " + key
			}
		}
	}
	return ""
}

func active(nodes []contract.Node, set string) (n int) {
	for _, node := range nodes {
		n += oneIf(node.Set == set)
	}
	return n
}

// mayReplace reports whether the policy, the newest run or a user permits the replacement of a node.
func (s Seen) mayReplace(l Loss) bool {
	newest := s.Newest()
	switch {
	case s.asked(), newest != nil && newest.State == Failed && slices.Contains(newest.Replaces, l.Key()):
		return true
	case s.Replace == v1alpha1.ReplaceAny:
		return l.Sure
	case s.Replace == v1alpha1.ReplaceNever || l.Node.Set == "":
		return false
	}
	return l.Sure && slices.ContainsFunc(s.Nodes, func(n contract.Node) bool {
		return n.Standby && n.Set == l.Node.Set && s.Site[n.Host].Ours && !s.Site[n.Host].Lost
	})
}

// removed returns the nodes that a run removes or may remove.
func removed(r *contract.Removal) []string {
	if r == nil {
		return nil
	}
	names := slices.Clone(r.Nodes)
	for _, set := range r.Sets {
		for _, c := range set.Candidates {
			names = append(names, c.Node)
		}
	}
	return names
}

// randomHost returns a host that is usually claimed and usually has no problem.
func randomHost(r *rand.Rand) Host {
	h := Host{UID: "u", Ours: true, Claimed: r.IntN(4) > 0, Live: r.IntN(2) == 0, Bare: r.IntN(9) == 0, Imaged: r.IntN(3) == 0, Marked: r.IntN(3) == 0}
	switch r.IntN(9) {
	case 0:
		h.Lost, h.Trouble = true, "in quarantine"
	case 1:
		h = Host{Gone: true, Live: h.Live}
	case 2:
		h = Host{UID: pick(r, "u", "v"), Holder: "Machine m", Live: h.Live}
	case 3:
		h = Host{UID: pick(r, "u", "v"), Live: h.Live}
	case 4:
		h.Trouble = "in error state"
	}
	return h
}

// TestNextNeverHarms: Next never releases a host while something may work on it. It never starts a
// run in any of these cases: another run is active, hosts or key are missing, or the spec describes
// another cluster than the installed one. It never deletes the newest run.
func TestNextNeverHarms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	count, operations := map[Do]int{}, map[string]int{}
	for i := range 10_000 {
		s := randomWorld(r, now)
		if i%8 == 0 {
			s = calm(r, s, now)
		}
		step := Next(s, now)
		count[step.Do]++
		bad := ""
		switch step.Do {
		case Release:
			if !s.Deleting || len(s.Pods) > 0 || len(s.ActiveRuns()) > 0 || len(s.ForeignRuns) > 0 {
				bad = "hosts in use are released"
			}
			if last := s.Newest(); !s.Retain && !s.Terminating && len(s.UsedHosts()) > 0 && (last == nil || !last.resets() || last.State != Succeeded) {
				bad = "hosts that contain a cluster are released without a reset"
			}
		case StartRun:
			resets := step.Operation == contract.OperationReset
			switch {
			case !s.Queue.Turn():
				bad = "a run starts before its turn"
			case resets && (!s.Deleting || s.Retain || s.Terminating || len(s.UsedHosts()) == 0 && s.Recorded):
				bad = "hosts are reset without a reason"
			case resets && (len(s.ActiveRuns()) > 0 || len(s.ForeignRuns) > 0 || len(s.Pods) > 0 || s.SSH == nil || s.SSH.Missing != ""):
				bad = "hosts are reset next to other work, or without a key"
			case resets && s.Last() != nil && step.Number <= s.Last().Number:
				bad = "a run's number is used twice"
			case resets:
			case s.Deleting || s.Paused || s.Invalid != "" || s.Settings != "" || s.Depot != "":
				bad = "a run starts without a request"
			case len(s.ActiveRuns()) > 0 || len(s.Leftovers) > 0:
				bad = "a run starts next to another"
			case s.SSH == nil || s.SSH.Missing != "" || step.Operation != contract.OperationSoftware && (s.Hosts == nil || s.Hosts.Missing != ""):
				bad = "a run starts without what it needs"
			case s.Last() != nil && step.Number <= s.Last().Number:
				bad = "a run's number is used twice"
			case s.Memory != nil:
				bad = harmfulChange(s, step)
			case s.installedDigest() != "" && s.installedDigest() != s.Digest:
				bad = "a run starts that takes hosts from the cluster that is there"
			case s.installedDigest() != "" && step.Operation != contract.OperationCollect && step.Operation != contract.OperationPlugins:
				bad = "a cluster is changed whose nodes are not known"
			case contract.OperationOf(step.Operation).ChangesCluster():
				bad = "a cluster is changed that never was"
			}
			if bad == "" {
				bad = harmfulPlugins(s, step)
			}
			if bad == "" {
				bad = harmfulSoftware(s, step, now)
			}
			operations[step.Operation]++
		case Fence:
			if _, force := RestoreFrom(s.RestoreAsked()); s.RestoreAsked() != "" && !force && s.Proved != s.RestoreAsked() && s.Memory.Restoring == "" {
				bad = "hosts are powered off before it is proved that etcd has lost its majority"
			}
		case CancelRun:
			if r := s.Newest(); !s.Deleting && r.Operation == contract.OperationRestore {
				if r.Touched || r.Restore == s.RestoreAsked() || s.Memory.Restoring != "" || !step.Supersede {
					bad = "a restore is stopped that is requested or has begun"
				}
			} else if !s.Deleting && (r.Touched || s.InstalledDigest != "" || s.Paused || r.Generation == s.Generation || !step.Supersede ||
				!s.Edited || s.Settings != "" || s.Depot != "") {
				bad = "a run is cancelled that may have touched hosts, whose spec was not edited, or that no other run can follow"
			}
		case GiveBack:
			for _, name := range step.Hosts {
				if h := s.Site[name]; !h.Ours || !h.Claimed {
					bad = "a host is given back that this object did not claim"
				}
			}
			for _, name := range step.Hosts {
				if h := s.Site[name]; s.Memory != nil && (s.used(h) || h.Lost || s.isMember(name) || s.Paused) {
					bad = "a host is given back that contains a part of the cluster"
				}
			}
			if s.Deleting || len(s.ActiveRuns()) > 0 || s.Memory == nil && (s.touched() || s.InstalledDigest != "") {
				bad = "hosts are given back on which something may be installed"
			}
		case Prune:
			for _, name := range step.Runs {
				if newest := s.Newest(); newest != nil && name == newest.Name || s.Software.Newest() != nil && name == s.Software.Newest().Name {
					bad = "the newest run is deleted"
				}
			}
		}
		if bad != "" {
			t.Fatalf("%s: %+v in %+v", bad, step, s)
		}
	}
	for _, do := range []Do{Stay, StartRun, CancelRun, StoreKubeconfig, Prune, Release, GiveBack, Fence} {
		if count[do] == 0 {
			t.Errorf("%s was never chosen in %v: the worlds are too tame", do, count)
		}
	}
	for _, o := range contract.Operations {
		if operations[o.Name] == 0 {
			t.Errorf("operations %v: the worlds are too tame", operations)
		}
	}
}

// after returns the state after a step was applied.
func after(s Seen, step Step, now time.Time) Seen {
	switch step.Do {
	case StartRun:
		run := Run{
			Name: fmt.Sprintf("edge-1-%s-%d", step.Operation, step.Number), Number: step.Number, Attempt: step.Attempt, Operation: step.Operation,
			Replaces: step.Replaces, Digest: s.Digest, Inputs: s.Inputs, Retry: s.Retry, Restore: askedBy(step.Request),
			Plugins: contract.PluginsDigest(step.Request.Plugins),
		}
		if step.Operation == contract.OperationSoftware {
			run.Inputs, run.Asked = step.Inputs, step.Request.Software.Asked
			s.Software.Runs, s.Software.Started = append(slices.Clone(s.Software.Runs), run), step.Request.Software
			break
		}
		s.Runs = append(slices.Clone(s.Runs), run)
		s.Started = step.Request
	case Fence:
		s.Site = maps.Clone(s.Site)
		for _, name := range step.Hosts {
			h := s.Site[name]
			h.FencedAt, h.SwitchedOff = now, true
			s.Site[name] = h
		}
	case GiveBack:
		s.Site = maps.Clone(s.Site)
		for _, name := range step.Hosts {
			s.Site[name] = Host{UID: s.Site[name].UID}
		}
	case StoreKubeconfig:
		s.Kubeconfig = &Kubeconfig{Endpoint: "https://x", Expires: now.Add(time.Hour)}
	case CancelRun, Prune:
		s.Runs, s.Software.Runs = afterStop(s.Runs, step), afterStop(s.Software.Runs, step)
		for i := range s.ForeignRuns {
			s.ForeignRuns[i].Cancelling = true
		}
	}
	return s
}

// afterStop returns the runs after some of them were cancelled or deleted.
func afterStop(before []Run, step Step) (runs []Run) {
	for _, r := range before {
		named := slices.Contains(step.Runs, r.Name)
		if named && step.Do == Prune {
			continue
		}
		r.Cancelling, r.Superseded = r.Cancelling || named, r.Superseded || named && step.Supersede
		runs = append(runs, r)
	}
	return runs
}

// finish returns the state after the run of the step has succeeded.
func finish(s Seen, step Step, now time.Time) Seen {
	s.Runs, s.Software.Runs, s.Site = slices.Clone(s.Runs), slices.Clone(s.Software.Runs), maps.Clone(s.Site)
	newest := s.Last()
	newest.State, newest.Started, newest.Completed = Succeeded, now, now
	if step.Operation == contract.OperationSoftware {
		return finishSoftware(s, step)
	}
	s.Collected = true
	r := step.Request
	s = finishPlugins(s, step)
	if s.Memory == nil || !contract.OperationOf(step.Operation).ChangesCluster() {
		return s
	}
	if r.Upgrade != nil {
		memory := *s.Memory
		memory.Nodes, memory.Request = s.Memory.Stamped(r), r.Spec
		markUpgraded(memory.Nodes, r.Upgrade)
		for i, n := range memory.Nodes {
			if slices.Contains(r.Upgrade.Nodes, n.Name) {
				memory.Nodes[i].Target = nil
			}
		}
		memory.SettlePatched()
		memory.Draining = slices.DeleteFunc(slices.Clone(memory.Draining), func(name string) bool { return slices.Contains(r.Upgrade.Nodes, name) })
		s.Memory = &memory
		return s
	}
	gone := slices.Clone(r.Lost)
	memory := &contract.Installed{Request: r.Spec, Patched: s.Memory.Patched, Restored: s.Memory.Restored, RestoredBefore: s.Memory.RestoredBefore}
	if r.Restore != nil {
		gone = r.Gone()
		memory.SetRestored(r.Restore.Asked)
		if s.Kubeconfig != nil {
			s.Kubeconfig = &Kubeconfig{Endpoint: "https://x", Expires: now.Add(time.Hour), Broken: "outdated", Outdated: true}
		}
	}
	if r.Remove != nil {
		gone = append(gone, leaving(r.Remove)...)
		for _, n := range slices.Concat(s.Memory.Nodes, s.leftovers()) {
			if h := s.Site[n.Host]; slices.Contains(gone, n.Name) && h.Ours && !h.Lost { // reset and released
				s.Site[n.Host] = Host{UID: h.UID}
			}
		}
	}
	nodes := slices.DeleteFunc(s.Memory.Stamped(r), func(n contract.Node) bool { return slices.Contains(gone, n.Name) })
	s.Nodes = slices.DeleteFunc(slices.Clone(s.Nodes), func(n contract.Node) bool { return !n.Standby })
	if r.Remove == nil {
		nodes, s.Nodes = chosen(s, r, nodes), nil
		for _, set := range r.Sets {
			for range set.Standby {
				s.Nodes = append(s.Nodes, newNode(s, contract.Node{Set: set.Name, Roles: set.Roles, Standby: true}))
			}
		}
	}
	memory.Nodes, s.Memory = nodes, memory
	s.Nodes = append(slices.Clone(nodes), s.Nodes...)
	return s
}

// chosen returns the nodes, and the other nodes that the request has, on new hosts.
func chosen(s Seen, r contract.Request, nodes []contract.Node) []contract.Node {
	for _, slot := range r.Slots {
		if !slices.ContainsFunc(nodes, func(n contract.Node) bool { return n.Name == slot.Name }) {
			nodes = append(nodes, newNode(s, contract.Node{Name: slot.Name, Roles: slot.Roles}))
		}
	}
	for _, set := range r.Sets {
		have := 0
		for _, n := range nodes {
			lost := slices.ContainsFunc(s.losses(), func(l Loss) bool { return l.Node.Name == n.Name })
			have += oneIf(n.Set == set.Name && !lost)
		}
		for ; have < set.Active; have++ {
			nodes = append(nodes, newNode(s, contract.Node{Set: set.Name, Roles: set.Roles}))
		}
	}
	return nodes
}

// newNode gives the node a new host, and a name if it has none.
func newNode(s Seen, n contract.Node) contract.Node {
	n.Host = fmt.Sprintf("new-%d", len(s.Site))
	n.HostUID = n.Host
	if n.Name == "" {
		n.Name = n.Set + "-" + n.Host
	}
	s.Site[n.Host] = Host{UID: n.Host, Ours: true, Claimed: true, Live: true}
	return n
}

// TestNextReachesAFixpoint: if nothing changes from outside and every run succeeds, every state
// becomes stable after a few steps. From then on, the status does not change either.
func TestNextReachesAFixpoint(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	started := map[string]int{}
	for range 3_000 {
		first := randomWorld(r, now)
		s, p := first, &v1alpha1.Provisioning{}
		p.Name, p.Status.InstalledDigest = s.Name, s.InstalledDigest
		const most = 60
		steps := 0
		var log []string
		for ; steps < most; steps++ {
			step := Next(s, now)
			Report(p, s, step, nil, nil, now)
			s.InstalledDigest, s.Restored = p.Status.InstalledDigest, p.Status.Restore
			if step.Do == Stay || step.Do == Release {
				break
			}
			log = append(log, describeStep(step)+": "+step.Message)
			if s = after(s, step, now); step.Do == StartRun {
				started[step.Operation]++
				s = finish(s, step, now)
			}
		}
		if steps == most {
			t.Fatalf("no rest after %d steps from %+v:\n%s", most, first, strings.Join(log, "\n"))
		}
		step := Next(s, now)
		Report(p, s, step, nil, nil, now)
		was := p.Status.DeepCopy()
		Report(p, s, Next(s, now), nil, nil, now)
		if diff := cmp.Diff(*was, p.Status); diff != "" {
			t.Fatalf("the status of a steady world changes (-first +second visit):\n%s\n%+v", diff, s)
		}
		if events := Events(was, &p.Status); len(events) > 0 {
			t.Fatalf("an unchanged state reports events %v", events)
		}
	}
	for _, o := range contract.Operations {
		if started[o.Name] == 0 {
			t.Errorf("runs %v: the worlds are too tame", started)
		}
	}
}
