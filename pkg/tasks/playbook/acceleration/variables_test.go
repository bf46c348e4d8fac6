package acceleration

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func TestExtraVars(t *testing.T) {
	vars := func(names ...string) map[string]json.RawMessage {
		set := map[string]json.RawMessage{}
		for _, name := range names {
			set[name] = json.RawMessage("4")
		}
		return set
	}
	all := map[string]any{
		"download_container": false, "skip_kubeadm_images": true, "kubeadm_init_timeout": "900s",
	}
	but := func(names ...string) map[string]any {
		rest := maps.Clone(all)
		for _, name := range names {
			delete(rest, name)
		}
		return rest
	}
	const install = contract.PlaybookInstall
	for name, test := range map[string]struct {
		on       []string
		playbook string
		request  contract.Request
		want     map[string]any
	}{
		"on":                        {Names, install, contract.Request{}, all},
		"off":                       {[]string{InProcess}, install, contract.Request{}, map[string]any{}},
		"a reset":                   {Names, contract.PlaybookReset, contract.Request{}, map[string]any{}},
		"a removal":                 {Names, contract.PlaybookRemove, contract.Request{}, map[string]any{}},
		"more nodes":                {Names, contract.PlaybookScale, contract.Request{}, all},
		"an upgrade":                {Names, contract.PlaybookUpgrade, contract.Request{}, map[string]any{}},
		"a time limit of the user":  {Names, install, contract.Request{Spec: contract.Spec{Vars: vars("kubeadm_init_timeout")}}, but("kubeadm_init_timeout")},
		"the user's way of images":  {Names, install, contract.Request{Spec: contract.Spec{Vars: vars("download_run_once")}}, map[string]any{}},
		"the images of a plugin":    {Names, install, contract.Request{Spec: contract.Spec{PluginVars: vars("download_container")}}, map[string]any{}},
		"images pulled by the user": {Names, install, contract.Request{Spec: contract.Spec{Vars: vars("download_container")}}, map[string]any{}},
	} {
		if diff := cmp.Diff(test.want, ExtraVars(test.on, test.playbook, test.request)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
