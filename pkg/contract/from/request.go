package from

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// depotOf returns the depot that the spec names, or else the site's depot. Settings that are
// missing in the spec come from the site's settings, but the site's CA is used only with the site's
// depot.
func depotOf(spec v1alpha1.DepotSpec, site settings.Depot) settings.Depot {
	d := site
	spec.URL, spec.ImageURL = strings.TrimRight(spec.URL, "/"), strings.TrimRight(spec.ImageURL, "/")
	if spec.URL != "" && spec.URL != site.URL {
		d.URL, d.CA, d.ImageURL, d.Insecure = spec.URL, "", "", false
	}
	d.ImageURL = cmp.Or(spec.ImageURL, d.ImageURL, d.URL)
	d.Insecure = d.Insecure || spec.Insecure
	if spec.CABundle != "" {
		d.CA = spec.CABundle
	}
	if spec.Connected != nil {
		d.Connected = *spec.Connected
	}
	return d
}

// DepotProblem returns the reason why no run may start with the depot of the Provisioning, and the
// next step for the user. The string is empty if a run may start. There are two reasons: the
// address is plain HTTP and neither the spec nor the site's settings accept this, or the spec names
// an uploaded image and no depot is configured.
func DepotProblem(p *v1alpha1.Provisioning, site settings.Depot) string {
	depot := depotOf(p.Spec.Depot, site)
	switch {
	case v1alpha1.IsPlainHTTP(depot.URL) && !depot.Insecure:
		return fmt.Sprintf("the depot's address %s is plain HTTP: anyone on the network path can change what is installed on the nodes. Set spec.depot.url "+
			"to its https address (and spec.depot.caBundle if the nodes do not trust its certificate), or accept plain HTTP with "+
			"`kubectl patch bpa -n %s %s --type merge -p '{\"spec\":{\"depot\":{\"insecure\":true}}}'`", depot.URL, p.Namespace, p.Name)
	case p.Spec.OSImage != nil && p.Spec.OSImage.Upload != "" && depot.ImageURL == "":
		return fmt.Sprintf("spec.osImage.upload: no depot is configured that can hold %s: set spec.depot.url, or set depot-url in ConfigMap %s with "+
			"`kubectl edit configmap %s -n %s`", p.Spec.OSImage.Upload, settings.Name, settings.Name, settings.Namespace)
	}
	return ""
}

// maxPatchLevel is the largest length, in bytes, of a patch level. The record has one for each node.
const maxPatchLevel = 64

// patchLevel returns the patch level for a value of contract.AnnotationPatch. A value that is long or has
// other characters than letters, digits and punctuation is replaced by its digest, because the level is
// stored with each node and shown to users.
func patchLevel(value string) string {
	plain := func(r rune) bool { return r > ' ' && r <= '~' }
	if len(value) <= maxPatchLevel && !strings.ContainsFunc(value, func(r rune) bool { return !plain(r) }) {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:8])
}

// Provisioning converts a Provisioning into a Request. It returns no error for a spec that the
// webhook has accepted. The caller must not start a run unless DepotProblem returns an empty
// string. The plugins are those of a cluster with hosts for all of them: see Plugins.
func Provisioning(p *v1alpha1.Provisioning, site settings.Depot) (contract.Request, error) {
	p = p.Normalized() // the stored object has the notations of its user
	slots, err := p.Spec.Slots()
	if err != nil {
		return contract.Request{}, err
	}
	depot := depotOf(p.Spec.Depot, site)
	request := contract.Request{
		Spec: contract.Spec{
			Provisioning:      p.Name,
			Namespace:         p.Namespace,
			UID:               p.ClusterUID(),
			Cluster:           p.ClusterName(),
			Patched:           patchLevel(p.Annotations[contract.AnnotationPatch]),
			Release:           p.Spec.Kubespray.Release,
			KubernetesVersion: p.Spec.Kubernetes.Version,
			NetworkPlugin:     p.Spec.Kubernetes.NetworkPlugin,
			PodSubnet:         p.Spec.PodSubnet,
			ServiceSubnet:     p.Spec.Kubernetes.ServiceSubnet,
			API:               makeAPI(p.Spec.Kubernetes.API),
			SSHUser:           p.Spec.SSH.User,
			SSHPort:           int(p.Spec.SSH.Port),
			DepotURL:          depot.URL,
			DepotCA:           depot.CA,
			Connected:         depot.Connected,
			DepotOfSite:       site.URL != "" && depot.URL == site.URL && depot.CA == site.CA,
			DepotChecksums:    p.Spec.Depot.Checksums == v1alpha1.ChecksumsDepot,
			OperatingSystem:   p.Spec.OperatingSystem,
			Unchecked:         append([]string(nil), p.Spec.Checks.Disable...),                 // nil for a written []
			SwitchedOff:       append([]string(nil), p.Spec.Kubespray.Acceleration.Disable...), // nil for a written []
			Access:            contract.Access{Subnets: append([]string(nil), p.Spec.Access.Subnets...), Interface: p.Spec.Access.Interface},
			OSImage:           makeOSImage(p.Spec.OSImage, depot.ImageURL),
		},
	}
	if pool := p.HostNamespace(); pool != p.Namespace {
		request.Pool = pool
	}
	if request.Slots, err = makeSlots(slots); err != nil {
		return contract.Request{}, err
	}
	if request.Sets, err = makeSets(p.Spec.Sets()); err != nil {
		return contract.Request{}, err
	}
	request.Vars = makeVars(p.Spec.Kubespray.Vars)
	request.Plugins, _ = Plugins(&p.Spec, AnyHost) // with a problem, there are none: see PluginProblem
	request.AddPlugins(request.Plugins)
	return request, nil
}
