package facts

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
)

// These tests check that this package does not repeat faults that the original BPA and Airship's
// SIP have in reading the facts of a host. Each comment describes the fault. The numbers are those
// of the study of both systems.

// nodesOf assigns Metal3's objects to the nodes of a request, and returns "node=host/address" for
// each node.
func nodesOf(request contract.Request, objects ...*metal3.BareMetalHost) (string, error) {
	request.Provisioning, request.Namespace = "edge-1", "site"
	var all []hosts.Host
	for _, o := range objects {
		all = append(all, Of(o, nil))
	}
	assigned, err := assign.Assign(request, all)
	if err != nil {
		return "", err
	}
	nodes, err := assign.Nodes(request, all, assigned)
	var found []string
	for _, n := range nodes {
		found = append(found, n.Name+"="+n.Host+"/"+n.Address)
	}
	return strings.Join(found, " "), err
}

// server returns host-n with the address 10.0.0.n.
func server(n int, change ...change) *metal3.BareMetalHost {
	h := provisioned(change...)
	h.Name, h.UID = fmt.Sprintf("host-%d", n), ""
	if h.Status.HardwareDetails == nil {
		h.Status.HardwareDetails = details(metal3.NIC{Name: "eth0", MAC: fmt.Sprintf("02:00:00:00:00:%02X", n), IP: fmt.Sprintf("10.0.0.%d", n)})
	}
	return h
}

func pinned(mac string) contract.Request {
	return contract.Request{Spec: contract.Spec{Slots: []contract.Slot{{Name: "worker-1", Roles: []string{contract.RoleWorker}, MAC: mac}}}}
}

// A host was found only by its boot MAC address and had no IP address. It was written into the
// inventory with nothing after "ansible_ssh_host=".
func TestFault_BPA_1_7_5_NoAddressIsAnError(t *testing.T) {
	blank := server(1, func(h *metal3.BareMetalHost) {
		h.Spec.BootMACAddress = "02:00:00:00:00:01"
		h.Status.HardwareDetails = &metal3.HardwareDetails{}
	})
	got, err := nodesOf(pinned("02:00:00:00:00:01"), blank)
	var nofit *assign.NoFit
	if !errors.As(err, &nofit) || !strings.Contains(err.Error(), "host-1") || !strings.Contains(err.Error(), "without an IP address") {
		t.Errorf("nodes %q, %v; want an error that names host-1 and says that it has no IP address", got, err)
	}
}

// MAC addresses were searched for as substrings of the host's JSON, with regard to case.
func TestFault_BPA_1_7_6_MACsAreComparedNotSearched(t *testing.T) {
	const mac = "02:00:00:00:00:0a"
	mentions := server(1, func(h *metal3.BareMetalHost) {
		h.Annotations = map[string]string{"note": "replaced " + mac}
		h.Labels = map[string]string{"was": mac}
		h.Spec.Description, h.Spec.BMC.Address = mac, "redfish+https://bmc/redfish/v1/"+mac
		h.Status.ErrorMessage = ""
	})
	if got, err := nodesOf(pinned(mac), mentions); err == nil {
		t.Errorf("a host that only mentions the address is taken: %s", got)
	}
	got, err := nodesOf(pinned(mac), mentions, server(10)) // written 02:00:00:00:00:0A by Metal3
	if err != nil || got != "worker-1=host-10/10.0.0.10" {
		t.Errorf("nodes %q, %v", got, err)
	}
	if got, err := nodesOf(pinned("02:00:00:00:00"), server(10)); err == nil {
		t.Errorf("a part of an address finds a host: %s", got)
	}
}

// The spread did not limit the number of hosts without the topology label. Here, such hosts belong
// to no rack.
func TestFault_SIP_4_5_4_HostsWithoutTheLabel(t *testing.T) {
	rack := func(name string) change {
		return func(h *metal3.BareMetalHost) { h.Labels = map[string]string{"rack": name} }
	}
	request := contract.Request{Spec: contract.Spec{Sets: []contract.Set{{
		Name: "w", Roles: []string{contract.RoleWorker}, Active: 2, Spread: &contract.Spread{TopologyKey: "rack", MaxSkew: 1},
	}}}}
	got, err := nodesOf(request, server(1), server(2), server(3, rack("r1")), server(4, rack("r2")))
	if err != nil || got != "w-1=host-3/10.0.0.3 w-2=host-4/10.0.0.4" {
		t.Errorf("nodes %q, %v", got, err)
	}
	if got, err := nodesOf(request, server(1), server(2), server(3)); err == nil {
		t.Errorf("hosts without the label are chosen: %s", got)
	}
}

// The fields for holder, state, error and pause were ignored: a host with a foreign consumerRef and
// a registration error was chosen.
func TestFault_SIP_4_5_5_HostsOfOthersAndInTrouble(t *testing.T) {
	foreign := func(h *metal3.BareMetalHost) {
		h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "Metal3Machine", Name: "m-1"}
	}
	one := contract.Request{Spec: contract.Spec{Slots: []contract.Slot{{Name: "worker-1", Roles: []string{contract.RoleWorker}}}}}
	for want, change := range map[string]change{
		"1 held by others":                      foreign,
		"1 in error state (registration error)": fails(metal3.RegistrationError, "no credentials"),
		"1 paused":                              annotation(metal3.PausedAnnotation, ""),
		"1 not provisioned (registering)":       state(metal3.StateRegistering),
		"1 in quarantine (smoke)":               annotation(contract.AnnotationQuarantine, "smoke"),
		"1 being deleted":                       deleting,
		"1 about to be deprovisioned":           func(h *metal3.BareMetalHost) { h.Spec.Image = nil },
		"1 without an operating system":         state(metal3.StateAvailable),
		"1 marked unhealthy":                    annotation(AnnotationUnhealthy, ""),
	} {
		if got, err := nodesOf(one, server(1, change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nodes %q, %v; want an explanation with %q", got, err, want)
		}
		if got, err := nodesOf(one, server(1, change), server(2)); err != nil || got != "worker-1=host-2/10.0.0.2" {
			t.Errorf("%s, beside a good one: nodes %q, %v", want, got, err)
		}
	}
}

// One bad host, such as a host without its network Secret, blocked all others.
func TestFault_SIP_4_5_6_OneBadHostBlocksNothing(t *testing.T) {
	two := contract.Request{Spec: contract.Spec{Slots: []contract.Slot{{Name: "a", Roles: []string{contract.RoleWorker}}, {Name: "b", Roles: []string{contract.RoleWorker}}}}}
	address := func(text string) change {
		return func(h *metal3.BareMetalHost) {
			h.Status.HardwareDetails = details(metal3.NIC{Name: "eth0", MAC: "02:00:00:00:00:77", IP: text})
		}
	}
	for name, bad := range map[string]*metal3.BareMetalHost{
		"no address":                  server(1, address("")),
		"no address that can be read": server(1, address("10.0.0.256")),
		"nothing known":               server(1, func(h *metal3.BareMetalHost) { h.Status.HardwareDetails = &metal3.HardwareDetails{} }),
	} {
		if got, err := nodesOf(two, bad, server(2), server(3)); err != nil || got != "a=host-2/10.0.0.2 b=host-3/10.0.0.3" {
			t.Errorf("%s: nodes %q, %v", name, got, err)
		}
	}
	duplicate := server(1, address("10.0.0.2")) // host-2 cannot be used either, because it has the same address
	if got, err := nodesOf(two, duplicate, server(2), server(3), server(4)); err != nil || got != "a=host-3/10.0.0.3 b=host-4/10.0.0.4" {
		t.Errorf("an address twice: nodes %q, %v", got, err)
	}
}
