package resources

import (
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
)

// MakeRequestConfigMap returns the ConfigMap with the request of the run of this number, and with the spec from
// which the request was made. Nobody can change it, because each task reads it when it starts, and the controller
// reads it as long as the run exists. p owns it until the run does.
func MakeRequestConfigMap(p *v1alpha1.Provisioning, r contract.Request, number int32) (*corev1.ConfigMap, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	back, err := revert(p.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: meta(p, contract.RunRequestName(p.Name, number)),
		Data:       map[string]string{contract.KeyRequest: string(text), contract.KeyVersion: strconv.Itoa(contract.Version), KeyRevert: back},
		Immutable:  ptr.To(true),
	}, nil
}

// MakeSoftwareConfigMap returns the ConfigMap in which tasks store the record of the software. A cluster that
// never had a Software has none.
func MakeSoftwareConfigMap(p *v1alpha1.Provisioning) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(p, contract.SoftwareName(p.Name))}
}

// MakeOutcomeConfigMap returns the ConfigMap in which the tasks of the run of this number store what its later tasks read:
// select-hosts the nodes, render-inventory the inventory. p owns it until the run does.
func MakeOutcomeConfigMap(p *v1alpha1.Provisioning, number int32) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(p, contract.OutcomeName(contract.RunRequestName(p.Name, number)))}
}

// MakePluginsConfigMap returns the ConfigMap in which the task install-plugins stores the states of the
// plugins. A cluster that never had plugins has none.
func MakePluginsConfigMap(p *v1alpha1.Provisioning) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(p, contract.PluginsName(p.Name))}
}

// MakeTaskConfigMaps returns the ConfigMaps that tasks of all runs write. The controller creates them empty, so
// that a task needs no permission to create one. Their contents stay from run to run: especially
// the SSH host keys, which are recorded at the first contact, must not be lost.
func MakeTaskConfigMaps(p *v1alpha1.Provisioning) []*corev1.ConfigMap {
	var all []*corev1.ConfigMap
	for _, name := range runs.TaskConfigMaps(p.Name) {
		all = append(all, &corev1.ConfigMap{ObjectMeta: meta(p, name)})
	}
	return all
}
