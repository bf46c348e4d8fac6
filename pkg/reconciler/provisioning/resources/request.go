package resources

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// Depot is where the nodes' binaries and images come from.
type Depot struct {
	URL       string // without a trailing slash; empty: the Internet
	ImageURL  string // where Metal3 fetches OS images; empty: URL
	CA        string // PEM of who signs its certificate; empty: nodes know it
	Connected bool   // what it lacks may be fetched from the Internet
}

// depotOf is the spec's own depot, else the site's. The site's CA is that of the site's depot and of no other.
func depotOf(spec v1alpha1.DepotSpec, site Depot) Depot {
	d := site
	if spec.URL != "" && spec.URL != site.URL {
		d.URL, d.CA, d.ImageURL = spec.URL, "", ""
	}
	d.ImageURL = cmp.Or(spec.ImageURL, d.ImageURL, d.URL)
	if spec.CABundle != "" {
		d.CA = spec.CABundle
	}
	if spec.Connected != nil {
		d.Connected = *spec.Connected
	}
	return d
}

// MakeRequest says in the tasks' words what a Provisioning asks for. A spec that passed the webhook gives no error.
func MakeRequest(p *v1alpha1.Provisioning, site Depot) (contract.Request, error) {
	slots, err := p.Spec.Slots()
	if err != nil {
		return contract.Request{}, err
	}
	depot := depotOf(p.Spec.Depot, site)
	request := contract.Request{
		Provisioning:      p.Name,
		Namespace:         p.Namespace,
		UID:               string(p.UID),
		Cluster:           p.ClusterName(),
		KubernetesVersion: p.Spec.Kubernetes.Version,
		NetworkPlugin:     p.Spec.Kubernetes.NetworkPlugin,
		PodSubnet:         p.Spec.PodSubnet,
		ServiceSubnet:     p.Spec.Kubernetes.ServiceSubnet,
		SSHUser:           p.Spec.SSH.User,
		SSHPort:           int(p.Spec.SSH.Port),
		DepotURL:          depot.URL,
		DepotCA:           depot.CA,
		Connected:         depot.Connected,
		DepotOfSite:       site.URL != "" && depot.URL == site.URL && depot.CA == site.CA,
		DepotChecksums:    p.Spec.Depot.Checksums == v1alpha1.ChecksumsDepot,
		OperatingSystem:   p.Spec.OperatingSystem,
		Access:            contract.Access{Subnets: append([]string(nil), p.Spec.Access.Subnets...), Interface: p.Spec.Access.Interface},
	}
	if request.OSImage, err = makeOSImage(p.Spec.OSImage, depot.ImageURL); err != nil {
		return contract.Request{}, err
	}
	if request.Slots, err = makeSlots(slots); err != nil {
		return contract.Request{}, err
	}
	if request.Sets, err = makeSets(p.Spec.Sets()); err != nil {
		return contract.Request{}, err
	}
	for name, value := range p.Spec.Kubespray.Vars {
		if request.Vars == nil {
			request.Vars = map[string]json.RawMessage{}
		}
		request.Vars[name] = json.RawMessage(value.Raw)
	}
	return request, nil
}

// Digest identifies the cluster that a request describes. How the cluster is reached and where its parts come from (user, port, depot,
// the object's UID) do not count: a site that moves its depot has not changed its clusters. Nor do standby hosts, on which nothing is
// installed, and the image for hosts that are to come, with what is expected of them.
func Digest(r contract.Request) (string, error) {
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
		Release   string `json:",omitempty"`
	}{r, p.Spec.SSH.SecretName, installTimeout(p), p.Spec.Kubespray.Release})
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

func installTimeout(p *v1alpha1.Provisioning) time.Duration {
	if p.Spec.Timeouts.Install != nil && p.Spec.Timeouts.Install.Duration > 0 {
		return p.Spec.Timeouts.Install.Duration
	}
	return v1alpha1.DefaultInstallTimeout
}
