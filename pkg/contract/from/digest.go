package from

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// version is the prefix of the digests that Digest returns.
const version = "v3:"

// identity has the fields of a request that define the cluster: if one of them changes, the request
// describes another cluster. A new field of contract.Request is not part of the digest unless it is
// added here.
//
// The digest is computed from the JSON of this type. With another name or order of the fields, each installed
// cluster would count as changed.
type identity struct {
	Provisioning      string                     `json:"provisioning"`
	Namespace         string                     `json:"namespace"`
	Slots             []slotIdentity             `json:"slots"`
	Sets              []setIdentity              `json:"sets,omitempty"`
	Release           string                     `json:"release,omitempty"`
	Access            contract.Access            `json:"access,omitzero"`
	KubernetesVersion string                     `json:"kubernetesVersion"`
	NetworkPlugin     string                     `json:"networkPlugin"`
	PodSubnet         string                     `json:"podSubnet"`
	ServiceSubnet     string                     `json:"serviceSubnet"`
	Vars              map[string]json.RawMessage `json:"vars,omitempty"`
	SecretVars        map[string]string          `json:"secretVars,omitempty"`
	API               *contract.API              `json:"api,omitempty"`
}

// slotIdentity has the fields of a slot that define the cluster.
type slotIdentity struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
	MAC   string   `json:"mac,omitempty"`
	contract.Needs
	Vars map[string]json.RawMessage `json:"vars,omitempty"`
}

// setIdentity has the fields of a node set that define the cluster. The number of standby hosts is
// not one of them, because nothing is installed on these hosts.
type setIdentity struct {
	Name   string   `json:"name"`
	Roles  []string `json:"roles"`
	Active int      `json:"active"`
	contract.Needs
	Spread *contract.Spread           `json:"spread,omitempty"`
	Vars   map[string]json.RawMessage `json:"vars,omitempty"`
}

func identityOf(r contract.Request) identity {
	id := identity{
		Provisioning: r.Provisioning, Namespace: r.Namespace, Release: r.Release, Access: r.Access,
		KubernetesVersion: r.KubernetesVersion, NetworkPlugin: r.NetworkPlugin,
		PodSubnet: r.PodSubnet, ServiceSubnet: r.ServiceSubnet, Vars: r.Vars, SecretVars: r.SecretVars, API: r.API,
	}
	for _, s := range r.Slots {
		id.Slots = append(id.Slots, slotIdentity{s.Name, s.Roles, s.MAC, s.Needs, s.Vars})
	}
	for _, s := range r.Sets {
		if s.Active > 0 {
			id.Sets = append(id.Sets, setIdentity{s.Name, s.Roles, s.Active, s.Needs, s.Spread, s.Vars})
		}
	}
	return id
}

// Digest identifies the cluster that a request describes. It depends only on the fields of
// identity.
//
// It does not depend on the SSH user and port, on the depot, or on the object's UID. For example, a
// site that moves its depot has not changed its clusters. It does not depend on standby hosts or on
// the label with the cluster's name. It does not depend on OSImage and OperatingSystem, which only
// affect hosts that are claimed later.
//
// It depends on the kubespray release, because a run of another release would upgrade the existing
// nodes.
//
// It does not depend on the order of workers. It depends on the order of control plane nodes,
// because kubespray numbers etcd's members in this order and initializes the cluster on the first
// node.
func Digest(r contract.Request) (string, error) {
	r.Slots = workersSorted(r.Slots, func(s contract.Slot) (string, []string) { return s.Name, s.Roles })
	r.Sets = workersSorted(r.Sets, func(s contract.Set) (string, []string) { return s.Name, s.Roles })
	digest, err := digest(identityOf(r))
	return version + digest, err
}

// workersSorted returns a copy of items: first the control plane nodes in their original order,
// then the workers by name.
func workersSorted[T any](items []T, of func(T) (name string, roles []string)) []T {
	key := func(item T) (worker int, name string) {
		name, roles := of(item)
		if slices.Contains(roles, contract.RoleControlPlane) {
			return 0, ""
		}
		return 1, name
	}
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b T) int {
		worker, name := key(a)
		otherWorker, otherName := key(b)
		return cmp.Or(cmp.Compare(worker, otherWorker), cmp.Compare(name, otherName))
	})
	return items
}

// Inputs returns a digest of everything that can change the result of a run. If it changes, a run
// that failed permanently is tried again. Of the plugins, it depends on what the user asks for, and not on
// what this build of BPA ships.
func Inputs(p *v1alpha1.Provisioning, r contract.Request) (string, error) {
	plugins := r.Plugins
	r.Plugins, r.PluginVars, r.PluginGroups = nil, nil, nil
	for _, p := range plugins {
		r.Plugins = append(r.Plugins, contract.Plugin{Name: p.Name, Intent: p.Intent})
	}
	return digest(struct {
		Request   contract.Request
		SSHSecret string
		Timeout   time.Duration
	}{r, p.Spec.SSH.Secret(), p.Spec.Timeouts.InstallTimeout()})
}

// digest returns the digest of v as JSON. The keys of maps are sorted in the JSON, so the digest
// does not depend on their order.
func digest(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("digest of the request: %w", err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
