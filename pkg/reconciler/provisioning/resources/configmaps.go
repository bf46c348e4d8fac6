package resources

import (
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// MakeRequestConfigMap holds the request, and the spec that it was made from. It is written anew just before a run starts and never while one works:
// tasks read it when they start. The digest is the one that the run carries.
func MakeRequestConfigMap(p *v1alpha1.Provisioning, r contract.Request, digest string) (*corev1.ConfigMap, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	back, err := revert(p.Spec)
	if err != nil {
		return nil, fmt.Errorf("write the spec: %w", err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: meta(p, contract.RequestName(p.Name)),
		Data: map[string]string{
			contract.KeyRequest: string(text), contract.KeyVersion: strconv.Itoa(contract.Version), KeyRevert: back, KeyDigest: digest,
		},
	}, nil
}

// MakeTaskConfigMaps are those that tasks write into. They are made empty, so that a task needs no right to create one, and whatever
// the tasks wrote is kept from run to run: above all the SSH host keys of the first contact.
func MakeTaskConfigMaps(p *v1alpha1.Provisioning) []*corev1.ConfigMap {
	var all []*corev1.ConfigMap
	for _, name := range []string{
		contract.InventoryName(p.Name), contract.KnownHostsName(p.Name), contract.ProgressName(p.Name),
	} {
		all = append(all, &corev1.ConfigMap{ObjectMeta: meta(p, name)})
	}
	return all
}
