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

// version2 is what the text of today's digests begins with. Those of DigestV1 begin with "sha256:".
const version2 = "v2:"

// Digest identifies the cluster that a request describes. How the cluster is reached and where its parts come from (user, port, depot,
// the object's UID) do not count: a site that moves its depot has not changed its clusters. Nor do standby hosts, on which nothing is
// installed, the image for hosts that are to come, with what is expected of them, and the label with the cluster's name.
//
// The kubespray release counts: a run of another release would upgrade the nodes that are there.
//
// The order of workers does not count either. That of control plane nodes does: kubespray numbers etcd's members by it, and makes the cluster on
// the first of them.
//
// The webhook's warning of a change that is not followed leaves out the same fields (clusterOf in package v1alpha1).
func Digest(r contract.Request) (string, error) {
	r.Cluster = ""
	r.Slots = workersSorted(r.Slots, func(s contract.Slot) (string, []string) { return s.Name, s.Roles })
	r.Sets = workersSorted(r.Sets, func(s contract.Set) (string, []string) { return s.Name, s.Roles })
	digest, err := DigestV1(r)
	return version2 + digest, err
}

// workersSorted puts the control plane first, in its order, and then the workers by name.
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

// DigestV1 is the digest that the versions of BPA before Digest stored with runs and in the status: the label with the cluster's name and the
// order of workers count in it. Clusters that those versions installed are known by it.
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

// Inputs identifies everything that can make a run end differently: once one of them changes, a run that failed for good is tried again.
func Inputs(p *v1alpha1.Provisioning, r contract.Request) (string, error) {
	return digest(struct {
		Request   contract.Request
		SSHSecret string
		Timeout   time.Duration
	}{r, p.Spec.SSH.Secret(), p.Spec.Timeouts.InstallTimeout()})
}

// digest is that of the JSON text, in which Go sorts the keys of maps.
func digest(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("digest of the request: %w", err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
