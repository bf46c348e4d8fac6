package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	hostfacts "github.com/akraino-icn/bpa/pkg/hosts/facts"
	hostimaging "github.com/akraino-icn/bpa/pkg/hosts/imaging"
	hoststuck "github.com/akraino-icn/bpa/pkg/hosts/stuck"
)

// hostView is the output of "kubectl bpa hosts", as JSON or as a page.
type hostView struct {
	Hosts  []hostRow `json:"hosts"`
	DryRun *dryRun   `json:"dryRun,omitempty"` // nil without --for and -f

	namespace string
	facts     []hosts.Host
	objects   []*metal3.BareMetalHost // in the order of facts
	// orphans holds the hosts whose holder is a Provisioning that does not exist. The key is the
	// name of this Provisioning, with its namespace if that is another one.
	orphans map[string][]*metal3.BareMetalHost
}

// hostRow is one host. Memory is in bytes. Unknown values are left out.
type hostRow struct {
	Name         string `json:"name"`
	Namespace    string `json:"namespace"`
	State        string `json:"state,omitempty"` // Metal3's provisioning state
	CPUs         int    `json:"cpus,omitempty"`
	Memory       int64  `json:"memory,omitempty"`
	SRIOV        bool   `json:"sriov"`
	QAT          bool   `json:"qat"`
	Architecture string `json:"architecture,omitempty"`
	Vendor       string `json:"vendor,omitempty"`
	Holder       string `json:"holder,omitempty"`
	HolderGone   bool   `json:"holderGone,omitempty"` // the holder is a Provisioning that does not exist
	Node         string `json:"node,omitempty"`
	NodeSet      string `json:"nodeSet,omitempty"`
	Standby      bool   `json:"standby,omitempty"`
	UsedBy       string `json:"usedBy,omitempty"` // the cluster that may still be on the host
	Problem      string `json:"problem,omitempty"`
	// Stuck is why Metal3 does not get on with the server, and what its administrator can do; nil: nothing is known.
	Stuck *hoststuck.Reason `json:"stuck,omitempty"`
}

// add appends a host. data is nil if the host has no HardwareData. exists reports whether the
// Provisioning of an owner exists.
func (v *hostView) add(host *metal3.BareMetalHost, data *metal3.HardwareData, exists func(hosts.Owner) bool) {
	h := hostfacts.Of(host, data)
	row := hostRow{
		Name: h.Name, Namespace: host.Namespace, State: string(host.Status.Provisioning.State), CPUs: h.CPU, Memory: h.Memory, SRIOV: h.SRIOV, QAT: h.QAT,
		Architecture: h.Architecture, Vendor: h.Vendor, Node: h.Node, NodeSet: h.Set, Standby: h.Standby,
		Problem: cmp.Or(h.Trouble, h.Unusable),
	}
	if h.UsedBy != (contract.User{}) {
		row.UsedBy = h.UsedBy.Cluster()
	}
	if h.Holder != nil {
		row.Holder = h.Holder.String()
		owner := hosts.OwnerIn(host.Namespace, h.Holder.Namespace, h.Holder.Name)
		if owner.Pool != "" {
			row.Holder += " of " + owner.Namespace
		}
		if row.HolderGone = owner.Holds(h) && !exists(owner); row.HolderGone {
			if v.orphans == nil {
				v.orphans = map[string][]*metal3.BareMetalHost{}
			}
			key := strings.TrimPrefix(row.Holder, hosts.Kind+" ")
			v.orphans[key] = append(v.orphans[key], host)
		}
	}
	v.Hosts, v.facts, v.objects = append(v.Hosts, row), append(v.facts, h), append(v.objects, host)
}

// hostPage returns the hosts of each namespace in one table, with the dry run if there is one, and the next commands.
func (s *site) hostPage(views []*hostView, c scope) string {
	if len(views) == 0 {
		return fmt.Sprintf("There is no BareMetalHost %s.\n", c.where(s))
	}
	rows := [][]string{c.withNamespace("NAMESPACE", []string{"NAME", "STATE", "CPUS", "MEMORY", "SRIOV", "QAT", "ARCH", "VENDOR", "HOLDER", "NODE", "USED BY", "PROBLEM"})}
	for _, v := range views {
		for _, h := range v.Hosts {
			rows = append(rows, c.withNamespace(v.namespace, h.cells()))
		}
	}
	parts := []string{columns(rows)}
	for _, v := range views {
		there := s.in(v.namespace)
		if v.DryRun != nil {
			parts = append(parts, v.DryRun.page())
		}
		if text := v.stuckServers(); text != "" {
			parts = append(parts, text)
		}
		if text := there.resetFree(v); text != "" {
			parts = append(parts, text)
		}
		for _, name := range slices.Sorted(maps.Keys(v.orphans)) {
			parts = append(parts, there.releaseOrphans(name, v.orphans[name]))
		}
	}
	return strings.Join(parts, "\n")
}

// explain finds out why Metal3 does not get on with servers.
func (v *hostView) explain(now time.Time) {
	for i, host := range v.objects {
		v.Hosts[i].Stuck = hoststuck.Of(host, now)
	}
}

// stuckServers describes what an administrator can do about the servers with which Metal3 does not get on; empty: there are none.
// Servers with the same reason are named together, since a rack often has one cause.
func (v *hostView) stuckServers() string {
	names := map[hoststuck.Reason][]string{}
	var order []hoststuck.Reason
	for _, h := range v.Hosts {
		if h.Stuck == nil {
			continue
		}
		if names[*h.Stuck] == nil {
			order = append(order, *h.Stuck)
		}
		names[*h.Stuck] = append(names[*h.Stuck], h.Name)
	}
	if len(order) == 0 {
		return ""
	}
	text := "Servers with which Metal3 does not get on:\n"
	for _, r := range order {
		text += fmt.Sprintf("  %s: %s.\n    %s\n", strings.Join(names[r], ", "), r.Why, r.Do)
	}
	return text
}

// cells returns the row of a host.
func (h hostRow) cells() []string {
	cpus, memory := "", ""
	if h.CPUs > 0 {
		cpus, memory = fmt.Sprint(h.CPUs), hosts.Memory(h.Memory)
	}
	holder, node := h.Holder, h.Node
	if h.HolderGone {
		holder += " (does not exist)"
	}
	if h.Standby {
		node += " (standby)"
	}
	return []string{
		h.Name, dash(h.State), dash(cpus), dash(memory), yes(h.SRIOV), yes(h.QAT), dash(h.Architecture), dash(clean(h.Vendor)),
		dash(clean(holder)), dash(clean(node)), dash(clean(h.UsedBy)), clean(h.Problem),
	}
}

// resetFree describes how a user makes the free hosts usable that an earlier cluster has used. It
// returns an empty string if there are no such hosts. A host without an operating system is left
// out, because an image makes it usable too.
func (s *site) resetFree(v *hostView) string {
	var names []string
	for _, h := range v.facts {
		if h.UsedBy != (contract.User{}) && h.Holder == nil && !h.Bare {
			names = append(names, h.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Free hosts that may contain an earlier cluster: %d. Only the Provisioning of that cluster can use them. To remove the cluster:\n  kubectl bpa hosts reset %s -n %s%s\n",
		len(names), strings.Join(names, " "), s.namespace, s.flags)
}

func dash(text string) string { return cmp.Or(text, "-") }

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "-"
}

// releaseOrphans describes how a user releases the hosts of a Provisioning that does not exist,
// with the command for each host. Only a user can decide this: a cluster may still run on the
// hosts.
func (s *site) releaseOrphans(holder string, orphans []*metal3.BareMetalHost) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Hosts of Provisioning %s, which does not exist: %d.\n"+
		"If its cluster is no longer needed, release them with the commands below. Then reset those with an entry in USED BY.\n"+
		"A host whose image this removes needs no reset.\n", holder, len(orphans))
	for _, host := range orphans {
		fmt.Fprintf(&text, "  %s\n", s.kubectl("patch baremetalhost "+host.Name, "--type=merge -p '"+undoing(host)+"'"))
	}
	return text.String()
}

// undoing returns the merge patch that releases a host. The patch removes the claim and the
// operating system image that BPA requested, and restores the values that BPA replaced. It contains
// no single quotes, so it can be single-quoted in a shell command.
func undoing(host *metal3.BareMetalHost) string {
	freed := host.DeepCopy()
	hostimaging.TakeAway(freed)
	freed.Spec.ConsumerRef = nil
	maps.DeleteFunc(freed.Labels, func(label, _ string) bool {
		return label == contract.LabelCluster || label == contract.LabelNode || label == contract.LabelSet || label == contract.LabelStandby ||
			label == contract.LabelFormerNode || label == contract.LabelRelease || strings.HasPrefix(label, contract.LabelRolePrefix)
	})
	raw, _ := client.MergeFrom(host).Data(freed) // cannot fail, because both objects have the same kind
	return strings.ReplaceAll(string(raw), "'", `\u0027`)
}
