package provisioning

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// A host that another host has replaced returns from quarantine: it still contains a part of the
// cluster, but it is not in the list of nodes any more. The run that resets it needs its address, and
// uses the Tasks of the release that the cluster was installed with.
func TestReplacedHostThatReturnsIsReset(t *testing.T) {
	site, nodes := fleet()
	back := &site.all[4]
	back.Holder = &hosts.Holder{Group: hosts.Group, Kind: hosts.Kind, Namespace: "site", Name: name, UID: "uid-1"}
	w := installedEdge(t, site, nodes, func(p *v1alpha1.Provisioning) { p.Spec.Kubespray.Release = "v9" })

	request, err := from.Provisioning(w.stored(t), settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	request.Release = ""
	members := slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return n.Standby })
	states := contract.HostStates{back.UID: contract.HostUsed}
	for _, n := range members {
		states[n.HostUID] = contract.HostUsed
	}
	cm := written(contract.InstalledName(name), contract.KeyInstalled, asJSON(t, contract.Installed{Request: request.Spec, Nodes: members}), contract.KeyClaimed, asJSON(t, nodes))
	cm.Data[contract.KeyHosts] = asJSON(t, states)
	w.record(t, cm)

	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	run := w.runNamed(t, "edge-1-remove-nodes-2")
	if run == nil {
		t.Fatalf("no run; calls: %q", w.calls())
	}
	for _, p := range run.Spec.Params {
		if p.Name == "kubespray-task" {
			t.Errorf("the run uses Task %s, which is not of the installed release", p.Value.StringVal)
		}
	}
	got := w.request(t).Nodes
	if i := slices.IndexFunc(got, func(n contract.Node) bool { return n.Host == "host-5" }); i < 0 || got[i].Address != "10.0.0.5" {
		t.Errorf("nodes of the run: %+v, want host-5 at 10.0.0.5", got)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A visit with a stale cache can mark a host after the reset of it was seen, and the cache of the visit that releases
// the host need not show this mark. Nobody would remove it later: no cluster could use the host.
func TestHostThatWasResetIsReleasedWithoutAMark(t *testing.T) {
	site, nodes := fleet()
	back := &site.all[4]
	back.Holder = &hosts.Holder{Group: hosts.Group, Kind: hosts.Kind, Namespace: "site", Name: name, UID: "uid-1"}
	w := installedEdge(t, site, nodes)
	request, err := from.Provisioning(w.stored(t), settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	members := slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return n.Standby })
	cm := written(contract.InstalledName(name), contract.KeyInstalled, asJSON(t, contract.Installed{Request: request.Spec, Nodes: members}), contract.KeyClaimed, asJSON(t, nodes))
	states := contract.HostStates{back.UID: contract.HostClean}
	for _, n := range members {
		states[n.HostUID] = contract.HostUsed
	}
	cm.Data[contract.KeyHosts] = asJSON(t, states)
	w.record(t, cm)
	_ = w.visit(t, at) // comes back
	if !slices.Contains(site.released, "host-5") || !slices.Contains(site.marked, "host-5=/ ") {
		t.Errorf("released %q, marks %q; calls: %q", site.released, site.marked, w.calls())
	}
}

// TestNoHostIsReleasedOnAnOldRecord: the cache can show the end of a run before what its tasks have written. Then no host is
// released: it may be the one that the run has just claimed, or on which a node has just been installed.
func TestNoHostIsReleasedOnAnOldRecord(t *testing.T) {
	members := func(host int, node string, standby bool) contract.Node {
		_, all := fleet()
		n := all[2]
		n.Name, n.Host, n.HostUID, n.Standby = node, "host-"+strconv.Itoa(host), "u"+strconv.Itoa(host), standby
		return n
	}
	for title, tc := range map[string]struct {
		listed contract.Node // on host-5, in the newest list of nodes
		change func(*contract.Installed)
	}{
		"the list of nodes": {members(5, "workers-4", true), func(*contract.Installed) {}},
		"the record":        {members(5, "workers-0", false), func(i *contract.Installed) { i.EtcdNext++ }},
	} {
		t.Run(title, func(t *testing.T) {
			all, nodes := fleet()
			all.all[3].Holder, all.all[4].Holder = nil, all.all[0].Holder
			former := append(slices.Clone(nodes[:3]), members(5, "workers-0", false))
			w := installedEdge(t, all, former)
			request, err := from.Provisioning(w.stored(t), settings.Depot{})
			if err != nil {
				t.Fatal(err)
			}
			record := contract.Installed{Request: request.Spec, Nodes: nodes[:3], EtcdNext: 2}
			old := written(contract.InstalledName(name), contract.KeyInstalled, asJSON(t, record), contract.KeyClaimed, asJSON(t, former))
			old.Data[contract.KeyHosts] = `{"u1":"used","u2":"used","u3":"used","u5":"clean"}`
			w.record(t, old)
			tc.change(&record)
			installed := old.DeepCopy()
			installed.Data[contract.KeyInstalled] = asJSON(t, record)
			installed.Data[contract.KeyClaimed] = asJSON(t, append(slices.Clone(nodes[:3]), tc.listed))
			if _, err := w.kube.CoreV1().ConfigMaps(site).Update(t.Context(), installed, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			_ = w.visit(t, at) // comes back
			if len(all.released) > 0 {
				t.Errorf("released %q, with a cache that is behind", all.released)
			}
			w.sync(t)
			w.settle(t)
			if free := !tc.listed.Standby; slices.Contains(all.released, "host-5") != free {
				t.Errorf("released %q; host-5 is free: %t", all.released, free)
			}
		})
	}
}
