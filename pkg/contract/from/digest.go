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

// version2 is the prefix of current digests. Digests of DigestV1 begin with "sha256:".
const version2 = "v2:"

// identity lists the fields of a request whose change needs another cluster, and no others: a new
// field of contract.Request is not part of the digest unless it is added here. Its JSON is the text
// that digests were computed from since version 1, so the order of the fields and their names stay,
// including the four that are always empty or only in version 1.
type identity struct {
	Provisioning      string                     `json:"provisioning"`
	Namespace         string                     `json:"namespace"`
	UID               string                     `json:"uid"`     // always empty
	Cluster           string                     `json:"cluster"` // empty since version 2
	Slots             []slotIdentity             `json:"slots"`
	Sets              []setIdentity              `json:"sets,omitempty"`
	Release           string                     `json:"release,omitempty"`
	Access            contract.Access            `json:"access,omitzero"`
	KubernetesVersion string                     `json:"kubernetesVersion"`
	NetworkPlugin     string                     `json:"networkPlugin"`
	PodSubnet         string                     `json:"podSubnet"`
	ServiceSubnet     string                     `json:"serviceSubnet"`
	SSHUser           string                     `json:"sshUser"` // always empty
	SSHPort           int                        `json:"sshPort"` // always 0
	Vars              map[string]json.RawMessage `json:"vars,omitempty"`
}

// slotIdentity lists the fields of a slot that count.
type slotIdentity struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
	MAC   string   `json:"mac,omitempty"`
	contract.Needs
}

// setIdentity lists the fields of a node set that count. Standby hosts do not, because nothing is
// installed on them.
type setIdentity struct {
	Name   string   `json:"name"`
	Roles  []string `json:"roles"`
	Active int      `json:"active"`
	contract.Needs
	Spread *contract.Spread `json:"spread,omitempty"`
}

func identityOf(r contract.Request) identity {
	id := identity{
		Provisioning: r.Provisioning, Namespace: r.Namespace, Release: r.Release, Access: r.Access,
		KubernetesVersion: r.KubernetesVersion, NetworkPlugin: r.NetworkPlugin,
		PodSubnet: r.PodSubnet, ServiceSubnet: r.ServiceSubnet, Vars: r.Vars,
	}
	for _, s := range r.Slots {
		id.Slots = append(id.Slots, slotIdentity{s.Name, s.Roles, s.MAC, s.Needs})
	}
	for _, s := range r.Sets {
		if s.Active > 0 {
			id.Sets = append(id.Sets, setIdentity{s.Name, s.Roles, s.Active, s.Needs, s.Spread})
		}
	}
	return id
}

// Digest identifies the cluster that a request describes: identity lists the fields that count. How
// BPA reaches the cluster and where its parts come from (user, port, depot, the object's UID) does not
// count: a site that moves its depot has not changed its clusters. Neither do standby hosts, the image
// and the operating system for later hosts, and the label with the cluster's name.
//
// The kubespray release counts, because a run of another release would upgrade the existing nodes.
//
// The order of workers does not count. The order of control plane nodes does, because kubespray
// numbers etcd's members by it and initializes the cluster on the first node.
//
// The webhook's warning of a change that BPA does not apply uses the same fields (clusterOf in
// package v1alpha1).
func Digest(r contract.Request) (string, error) {
	r.Slots = workersSorted(r.Slots, func(s contract.Slot) (string, []string) { return s.Name, s.Roles })
	r.Sets = workersSorted(r.Sets, func(s contract.Set) (string, []string) { return s.Name, s.Roles })
	digest, err := digest(identityOf(r))
	return version2 + digest, err
}

// workersSorted returns the control plane nodes first, in their order, and then the workers by
// name.
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

// DigestV1 computes the digest that older versions of BPA stored with runs and in the status. It
// includes the label with the cluster's name and the order of workers. Clusters that those versions
// installed are recognized by it.
func DigestV1(r contract.Request) (string, error) {
	id := identityOf(r)
	id.Cluster = r.Cluster
	return digest(id)
}

// Inputs identifies everything that can change the result of a run. If one of the inputs changes, a
// run that failed permanently is tried again.
func Inputs(p *v1alpha1.Provisioning, r contract.Request) (string, error) {
	return digest(struct {
		Request   contract.Request
		SSHSecret string
		Timeout   time.Duration
	}{r, p.Spec.SSH.Secret(), p.Spec.Timeouts.InstallTimeout()})
}

// digest returns the digest of the JSON text. Go sorts the keys of maps in it.
func digest(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("digest of the request: %w", err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
