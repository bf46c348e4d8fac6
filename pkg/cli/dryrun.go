package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// dryRun says which hosts a Provisioning would get. The dry run claims no host.
type dryRun struct {
	Provisioning string `json:"provisioning"`
	// Assignment holds the hosts in the order of their nodes. It is empty if there is no
	// assignment; NoFit then explains why.
	Assignment []chosen `json:"assignment,omitempty"`
	NoFit      string   `json:"noFit,omitempty"`
	Hosts      []fit    `json:"hosts"`
}

type chosen struct {
	Node    string   `json:"node"`
	Roles   []string `json:"roles"`
	NodeSet string   `json:"nodeSet,omitempty"`
	Standby bool     `json:"standby,omitempty"`
	Host    string   `json:"host"`
}

// fit describes which nodes a host fits if no other host is considered.
type fit struct {
	Host string `json:"host"`
	// Fits holds the nodes and node sets that the host fits. For each of the others, Why holds the
	// reason why the host does not fit.
	Fits []string          `json:"fits,omitempty"`
	Why  map[string]string `json:"why,omitempty"`

	becomes string // name of the node that the host gets in the assignment; empty: none
}

// tryAssign assigns hosts as the controller does before a run. It sets the defaults first, because
// the object may have been stored without them.
func tryAssign(p *v1alpha1.Provisioning, depot settings.Depot, all []hosts.Host) (*dryRun, error) {
	p = p.DeepCopy()
	p.SetDefaults(context.Background())
	request, err := from.Provisioning(p, depot)
	if err != nil {
		return nil, err
	}
	request.Installed = installed(p)
	all = slices.Clone(all)
	hosts.MarkInstalled(request, all)
	t := &dryRun{Provisioning: p.Name}
	assigned, err := assign.Assign(request, all)
	var noFit *assign.NoFit
	switch {
	case errors.As(err, &noFit):
		t.NoFit = noFit.Error()
	case err != nil:
		return nil, err
	}
	becomes := map[string]string{}
	for _, a := range assigned {
		t.Assignment = append(t.Assignment, chosen{a.Node, a.Roles, a.Set, a.Standby, a.Host})
		becomes[a.Host] = a.Node
		if a.Standby {
			becomes[a.Host] += " (standby)"
		}
	}
	kinds := kindsOf(request)
	for _, h := range all {
		t.Hosts = append(t.Hosts, fitOf(request, kinds, h, becomes[h.Name]))
	}
	return t, nil
}

// installed returns the hosts of nodes that a run has installed, sorted.
func installed(p *v1alpha1.Provisioning) []string {
	var names []string
	for _, n := range p.Status.Nodes {
		if p.Status.InstalledDigest != "" && n.State != v1alpha1.NodeStandby {
			names = append(names, n.Host)
		}
	}
	slices.Sort(names)
	return names
}

// kind is a group of nodes with equal requirements.
type kind struct {
	names []string
	slot  contract.Slot
}

// kindsOf groups the nodes and node sets of the request by their requirements. A pinned node is
// alone in its group, because its MAC address is a requirement.
func kindsOf(request contract.Request) []kind {
	var kinds []kind
	at := map[string]int{}
	add := func(name string, slot contract.Slot) {
		slot.Name, slot.Roles = "", nil
		key, _ := json.Marshal(slot) // cannot fail: plain fields
		i, known := at[string(key)]
		if !known {
			i = len(kinds)
			at[string(key)] = i
			kinds = append(kinds, kind{slot: slot})
		}
		kinds[i].names = append(kinds[i].names, name)
	}
	for _, s := range request.Slots {
		add(s.Name, s)
	}
	for _, set := range request.Sets {
		add(set.Name, contract.Slot{Needs: set.Needs})
	}
	return kinds
}

// fitOf determines which nodes the host could become if it were the only host. If a node is pinned
// to the host, the host fits only this node.
func fitOf(request contract.Request, kinds []kind, h hosts.Host, becomes string) fit {
	f := fit{Host: h.Name, becomes: becomes}
	pinned := "" // the node that is pinned to the host by its MAC address
	request.Sets, request.Installed = nil, nil
	h.Installed = false
	for _, k := range kinds {
		k.slot.Name = "node"
		request.Slots = []contract.Slot{k.slot}
		_, err := assign.Assign(request, []hosts.Host{h})
		if err == nil {
			f.Fits = append(f.Fits, k.names...)
			if k.slot.MAC != "" {
				pinned = cmp.Or(pinned, k.names[0])
			}
			continue
		}
		f.lacks(obstacle(err, k.slot, h.Name), k.names)
	}
	for _, k := range kinds {
		if pinned != "" && k.slot.MAC == "" && slices.Contains(f.Fits, k.names[0]) {
			f.Fits = slices.DeleteFunc(f.Fits, func(name string) bool { return slices.Contains(k.names, name) })
			f.lacks("pinned to "+pinned, k.names)
		}
	}
	return f
}

// lacks records for each of the nodes that the host does not fit it, and why.
func (f *fit) lacks(why string, nodes []string) {
	if f.Why == nil {
		f.Why = map[string]string{}
	}
	for _, name := range nodes {
		f.Why[name] = why
	}
}

// obstacle returns the reason why a host does not fit a node. The text completes "host-1 is ...".
func obstacle(err error, slot contract.Slot, host string) string {
	var noFit *assign.NoFit
	if !errors.As(err, &noFit) || len(noFit.Unmet) == 0 {
		return err.Error()
	}
	why, found := noFit.Unmet[0].Obstacles[host]
	if !found && slot.MAC != "" {
		return "without the MAC address " + slot.MAC
	}
	return cmp.Or(why, noFit.Unmet[0].Why)
}

// page returns the dry run as text.
func (t *dryRun) page() string {
	rows := [][]string{{"HOST", "BECOMES", "FITS", "WHY NOT"}}
	for _, f := range t.Hosts {
		rows = append(rows, []string{f.Host, dash(f.becomes), dash(strings.Join(f.Fits, ",")), clean(f.whyNot())})
	}
	head := fmt.Sprintf("Dry run for %s (nothing is claimed):\n", t.Provisioning)
	if t.NoFit != "" {
		head = fmt.Sprintf("Dry run for %s (no assignment exists now):\n", t.Provisioning)
	}
	return head + columns(rows)
}

// whyNot returns the reasons as text. Each reason appears once and is followed by its nodes. If the
// host fits no node and the reason is always the same, the nodes are omitted.
func (f fit) whyNot() string {
	of := map[string][]string{}
	var reasons []string
	for _, name := range slices.Sorted(maps.Keys(f.Why)) {
		why := f.Why[name]
		if of[why] == nil {
			reasons = append(reasons, why)
		}
		of[why] = append(of[why], name)
	}
	if len(reasons) == 1 && len(f.Fits) == 0 {
		return reasons[0]
	}
	for i, why := range reasons {
		reasons[i] = strings.Join(of[why], ",") + ": " + why
	}
	return strings.Join(reasons, "; ")
}
