package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// LabelCluster is ICN's label with the cluster's name for people. It need not be the Provisioning's own name.
const LabelCluster = "cluster"

// ClusterName is the cluster's name for people: ICN's label "cluster", else the name of the Provisioning.
func (p *Provisioning) ClusterName() string {
	if name := p.Labels[LabelCluster]; name != "" {
		return name
	}
	return p.Name
}

// Slot is one node that a Provisioning asks for, in one or both roles, with what its host must be or have. Zero values ask for nothing.
//
// +k8s:deepcopy-gen=false
type Slot struct {
	Name         string
	ControlPlane bool
	Worker       bool
	MAC          MAC // canonical
	CPU          int32
	Memory       int64 // bytes
	SRIOV        bool
	QAT          bool
}

// Slots are the nodes of the cluster, masters first, in the order of the spec. A worker with a master's name is merged into that
// master and the greater requirement holds; with no workers every master is one. The error is nil for a spec that passed Validate.
func (s *ProvisioningSpec) Slots() ([]Slot, error) {
	slots := make([]Slot, 0, len(s.Masters)+len(s.Workers))
	index := map[string]int{}
	for i, item := range s.Masters {
		for name, m := range item {
			slot, err := makeSlot(name, m.MACAddress, m.CPU, m.Memory)
			if err != nil {
				return nil, fmt.Errorf("spec.masters[%d].%s: %w", i, name, err)
			}
			slot.ControlPlane, slot.Worker = true, len(s.Workers) == 0
			index[name] = len(slots)
			slots = append(slots, slot)
		}
	}
	for i, item := range s.Workers {
		for name, w := range item {
			slot, err := makeSlot(name, w.MACAddress, w.CPU, w.Memory)
			if err != nil {
				return nil, fmt.Errorf("spec.workers[%d].%s: %w", i, name, err)
			}
			slot.Worker, slot.SRIOV, slot.QAT = true, w.SRIOV, w.QAT
			if at, ok := index[name]; ok {
				slots[at] = slots[at].merge(slot)
				continue
			}
			slots = append(slots, slot)
		}
	}
	return slots, nil
}

func makeSlot(name string, address *MAC, cpu int32, memory string) (Slot, error) {
	slot := Slot{Name: name, CPU: cpu}
	if address != nil && *address != "" {
		mac, err := ParseMAC(string(*address))
		if err != nil {
			return Slot{}, fmt.Errorf("mac-address: %w", err)
		}
		slot.MAC = mac
	}
	if memory != "" {
		q, err := resource.ParseQuantity(memory)
		if err != nil {
			return Slot{}, fmt.Errorf("memory %q: %w", memory, err)
		}
		slot.Memory = q.Value()
	}
	return slot, nil
}

// merge adds the worker role, and what it needs, to a master.
func (m Slot) merge(worker Slot) Slot {
	m.Worker = true
	if m.MAC == "" {
		m.MAC = worker.MAC
	}
	m.CPU = max(m.CPU, worker.CPU)
	m.Memory = max(m.Memory, worker.Memory)
	m.SRIOV, m.QAT = worker.SRIOV, worker.QAT
	return m
}
