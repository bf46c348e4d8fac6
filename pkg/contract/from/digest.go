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

// Digest identifies the cluster that a request describes. It leaves out how BPA reaches the cluster
// and where its parts come from (user, port, depot, the object's UID): a site that moves its depot
// has not changed its clusters. It also leaves out standby hosts, because nothing is installed on
// them; the image and the operating system for later hosts; and the label with the cluster's name.
//
// The kubespray release is part of the digest, because a run of another release would upgrade the
// existing nodes.
//
// The order of workers is not part of the digest. The order of control plane nodes is, because
// kubespray numbers etcd's members by it and initializes the cluster on the first node.
//
// The webhook's warning of a change that BPA does not apply leaves out the same fields (clusterOf
// in package v1alpha1).
func Digest(r contract.Request) (string, error) {
	r.Cluster = ""
	r.Slots = workersSorted(r.Slots, func(s contract.Slot) (string, []string) { return s.Name, s.Roles })
	r.Sets = workersSorted(r.Sets, func(s contract.Set) (string, []string) { return s.Name, s.Roles })
	digest, err := DigestV1(r)
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
	r.UID, r.SSHUser, r.SSHPort, r.OSImage, r.OperatingSystem = "", "", 0, nil, ""
	r.DepotURL, r.DepotCA, r.DepotOfSite, r.Connected, r.DepotChecksums = "", "", false, false, false
	r.Installed, r.Lost = nil, nil
	installed := []contract.Set(nil)
	for _, set := range r.Sets {
		if set.Standby = 0; set.Active > 0 {
			installed = append(installed, set)
		}
	}
	r.Sets = installed
	return digest(r)
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
