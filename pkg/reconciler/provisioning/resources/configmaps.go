package resources

import (
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
)

// MakeRequestConfigMap returns the ConfigMap with the request and with the spec from which the
// request was made. digest is the digest of the run. The controller writes this ConfigMap just
// before it starts a run, and never while a run is active, because each task reads it when it
// starts.
func MakeRequestConfigMap(p *v1alpha1.Provisioning, r contract.Request, digest string) (*corev1.ConfigMap, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	back, err := revert(p.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: meta(p, contract.RequestName(p.Name)),
		Data: map[string]string{
			contract.KeyRequest: string(text), contract.KeyVersion: strconv.Itoa(r.ContractVersion()), KeyRevert: back, KeyDigest: digest,
			KeyRetry: p.Annotations[contract.AnnotationRetry],
		},
	}, nil
}

// MakeSoftwareRequestConfigMap returns the ConfigMap with the request of a run for Softwares. It does not
// replace that of the newest run that has changed the cluster.
func MakeSoftwareRequestConfigMap(p *v1alpha1.Provisioning, r contract.Request, digest string) (*corev1.ConfigMap, error) {
	cm, err := MakeRequestConfigMap(p, r, digest)
	if err != nil {
		return nil, err
	}
	cm.Name = contract.SoftwareRequestName(p.Name)
	return cm, nil
}

// MakeSoftwareConfigMap returns the ConfigMap in which tasks store the record of the software. A cluster that
// never had a Software has none.
func MakeSoftwareConfigMap(p *v1alpha1.Provisioning) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(p, contract.SoftwareName(p.Name))}
}

// MakeInventoryConfigMap returns the inventory's ConfigMap with only these nodes, as JSON.
func MakeInventoryConfigMap(p *v1alpha1.Provisioning, nodes string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(p, contract.InventoryName(p.Name)), Data: map[string]string{contract.KeyNodes: nodes}}
}

// MakePluginsConfigMap returns the ConfigMap in which the task install-plugins stores the states of the
// plugins. A cluster that never had plugins has none.
func MakePluginsConfigMap(p *v1alpha1.Provisioning) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(p, contract.PluginsName(p.Name))}
}

// MakeTaskConfigMaps returns the ConfigMaps that tasks write. The controller creates them empty, so
// that a task needs no permission to create one. Their contents stay from run to run: especially
// the SSH host keys, which are recorded at the first contact, must not be lost.
func MakeTaskConfigMaps(p *v1alpha1.Provisioning) []*corev1.ConfigMap {
	var all []*corev1.ConfigMap
	for _, name := range runs.TaskConfigMaps(p.Name) {
		all = append(all, &corev1.ConfigMap{ObjectMeta: meta(p, name)})
	}
	return all
}
