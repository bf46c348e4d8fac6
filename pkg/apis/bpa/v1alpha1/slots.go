package v1alpha1

import "fmt"

// LabelCluster is ICN's label with the display name of the cluster. The display name may differ
// from the name of the Provisioning.
const LabelCluster = "cluster"

// ClusterName returns the cluster's display name: ICN's label "cluster", or the name of the
// Provisioning if there is no label.
func (p *Provisioning) ClusterName() string {
	if name := p.Labels[LabelCluster]; name != "" {
		return name
	}
	return p.Name
}

// Slot is one node that a Provisioning requests by name, in one or both roles, with the
// requirements for its host.
//
// +k8s:deepcopy-gen=false
type Slot struct {
	Name         string
	ControlPlane bool
	Worker       bool
	MAC          MAC // in canonical notation; empty: any host that meets the requirements
	HostRequirements
	NodeMetadata
	NodeVars
}

// Slots returns the nodes with names, masters first, in the order of the spec. A worker with a
// master's name is merged into that master, and the requirements of both apply. If the cluster has
// no workers, every master is also a worker. The error is nil for a spec that passed Validate.
func (s *ProvisioningSpec) Slots() ([]Slot, error) {
	slots := make([]Slot, 0, len(s.Masters)+len(s.Workers))
	index := map[string]int{}
	for i, item := range s.Masters {
		for name, m := range item {
			slot, err := makeSlot(name, Worker(m))
			if err != nil {
				return nil, fmt.Errorf("spec.masters[%d].%s: %w", i, name, err)
			}
			slot.ControlPlane, slot.Worker = true, !s.HasWorkers()
			index[name] = len(slots)
			slots = append(slots, slot)
		}
	}
	for i, item := range s.Workers {
		for name, w := range item {
			slot, err := makeSlot(name, w)
			if err != nil {
				return nil, fmt.Errorf("spec.workers[%d].%s: %w", i, name, err)
			}
			slot.Worker = true
			at, ok := index[name]
			if !ok {
				slots = append(slots, slot)
				continue
			}
			if slots[at], err = slots[at].merge(slot); err != nil {
				return nil, fmt.Errorf("spec.workers[%d].%s: %w", i, name, err)
			}
		}
	}
	return slots, nil
}

// makeSlot converts one item of masters or workers. A Master has the same fields as a Worker.
func makeSlot(name string, w Worker) (Slot, error) {
	slot := Slot{Name: name, HostRequirements: w.HostRequirements, NodeMetadata: w.NodeMetadata, NodeVars: w.NodeVars}
	if w.MACAddress != nil && *w.MACAddress != "" {
		mac, err := ParseMAC(string(*w.MACAddress))
		if err != nil {
			return Slot{}, fmt.Errorf("mac-address: %w", err)
		}
		slot.MAC = mac
	}
	_, err := greater(slot.Memory, "")
	return slot, err
}

// merge adds the worker role and the worker's requirements to a master.
func (m Slot) merge(worker Slot) (Slot, error) {
	m.Worker = true
	if m.MAC == "" {
		m.MAC = worker.MAC
	}
	m.NodeMetadata, m.NodeVars = m.NodeMetadata.and(worker.NodeMetadata), m.NodeVars.and(worker.NodeVars)
	var err error
	m.HostRequirements, err = m.HostRequirements.and(&worker.HostRequirements)
	return m, err
}
