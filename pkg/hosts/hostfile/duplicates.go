package hostfile

import (
	"fmt"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// owner is what has a name, a MAC address or a BMC already.
type owner struct {
	row  *Row                  // nil: a host
	host *metal3.BareMetalHost // nil: a row
	line int
}

// is reports whether the owner is the row itself, or the host that the row makes.
func (o owner) is(r *Row, namespace string) bool {
	return o.row == r || o.host != nil && o.host.Namespace == namespace && o.host.Name == r.Name
}

func (o owner) String() string {
	if o.host != nil {
		return fmt.Sprintf("host %s of namespace %s", o.host.Name, o.host.Namespace)
	}
	return fmt.Sprintf("%s in line %d", shown(o.row.Name), o.line)
}

// system is an endpoint with its owner.
type system struct {
	endpoint
	owner
}

// taken knows what hosts and earlier rows have.
type taken struct {
	namespace string // of the rows
	names     map[string]owner
	macs      map[string]owner
	systems   map[string][]system // by the host of the endpoint
}

// duplicates returns the rows that have a name, a BMC or a MAC address of an earlier row, or of a host of the site. The host of
// the same name in the namespace is the row's own.
func duplicates(rows []*Row, namespace string, hosts []metal3.BareMetalHost) (findings []Finding) {
	t := taken{namespace: namespace, names: map[string]owner{}, macs: map[string]owner{}, systems: map[string][]system{}}
	for i := range hosts {
		t.addHost(&hosts[i])
	}
	for _, r := range rows {
		findings = append(findings, t.check(r)...)
		t.addRow(r)
	}
	return findings
}

func (t *taken) addHost(h *metal3.BareMetalHost) {
	o := owner{host: h}
	if same, has := t.names[h.Name]; !has || same.host.Namespace != t.namespace {
		t.names[h.Name] = o // of several hosts with a name, that of the rows' namespace
	}
	if e, ok := endpointOf(h.Spec.BMC.Address); ok {
		t.systems[e.host] = append(t.systems[e.host], system{e, o})
	}
	macs := []string{h.Spec.BootMACAddress}
	if h.Status.HardwareDetails != nil {
		for _, card := range h.Status.HardwareDetails.NIC {
			macs = append(macs, card.MAC)
		}
	}
	for _, address := range macs {
		if m := newMAC(address, place{}); m.ok {
			t.macs[m.text] = o
		}
	}
}

func (t *taken) addRow(r *Row) {
	add := func(of map[string]owner, key string, line int) {
		if _, has := of[key]; !has && key != "" {
			of[key] = owner{row: r, line: line}
		}
	}
	if t.names[r.Name].host != nil {
		delete(t.names, r.Name) // from here on, the row has the name
	}
	add(t.names, r.Name, r.at(pathName).line)
	for _, m := range r.allMACs() {
		add(t.macs, m.text, m.line)
	}
	if e, ok := endpointOf(r.Address); ok {
		t.systems[e.host] = append(t.systems[e.host], system{e, owner{row: r, line: r.at(pathAddress).line}})
	}
}

// allMACs returns the valid MAC addresses of a row.
func (r *Row) allMACs() (all []mac) {
	for _, m := range append([]mac{newMAC(r.BootMAC, r.at(pathBootMAC))}, r.macs...) {
		if m.ok {
			all = append(all, m)
		}
	}
	return all
}

func (t *taken) check(r *Row) (findings []Finding) {
	if o, has := t.names[r.Name]; has && r.Name != "" && !o.is(r, t.namespace) {
		findings = append(findings, r.finding(pathName, o.String()+" has this name", otherName(o)))
	}
	if e, ok := endpointOf(r.Address); ok {
		for _, s := range t.systems[e.host] {
			if s.same(e) && !s.is(r, t.namespace) {
				findings = append(findings, r.finding(pathAddress, s.owner.String()+" has this BMC", "give each server its own BMC, or its own path if one BMC has several servers"))
				break
			}
		}
	}
	seen := map[string]bool{}
	for _, m := range r.allMACs() {
		if o, has := t.macs[m.text]; has && !o.is(r, t.namespace) && !seen[m.text] {
			findings = append(findings, Finding{Line: m.line, Host: shown(r.Name), Field: m.name, Problem: o.String() + " has the MAC address " + m.text, Remedy: "correct one of them: a MAC address is that of one server"})
		}
		seen[m.text] = true
	}
	return findings
}

func otherName(o owner) string {
	if o.host != nil {
		return fmt.Sprintf("use another name, or -n %s if this is that server", o.host.Namespace)
	}
	return "use another name"
}
