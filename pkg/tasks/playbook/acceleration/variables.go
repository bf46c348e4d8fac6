package acceleration

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// images are variables of kubespray that leave the pulling of images to kubeadm and the kubelet.
// kubespray itself pulls them one after the other before it goes on.
var images = map[string]any{
	"download_container":  false,
	"skip_kubeadm_images": true, // lists the images that download_container would pull
	// kubeadm init pulls images too. kubespray has 300s, and has pulled them before.
	"kubeadm_init_timeout": "900s",
}

// ownImages are variables of kubespray with which the user decides how images get onto the nodes.
var ownImages = []string{"download_container", "skip_kubeadm_images", "download_run_once", "download_localhost", "download_force_cache"}

// ExtraVars returns the variables of kubespray for one run of a playbook that let nodes pull images while
// the playbook goes on. Variables of the request override them. They are extra variables of the run
// and no part of the inventory, so no cluster gets other variables when they change or are switched off.
//
// An upgrade still pulls the images first: its nodes have pods, and would be drained for longer.
func ExtraVars(on []string, playbook string, request contract.Request) map[string]any {
	vars := map[string]any{}
	removes := playbook == contract.PlaybookRemove || playbook == contract.PlaybookReset // they read none of the variables
	if removes || !slices.Contains(on, Variables) {
		return vars
	}
	set := func(name string) bool {
		_, plugins := request.PluginVars[name]
		return plugins || request.SetsVar(name)
	}
	if playbook != contract.PlaybookUpgrade && !slices.ContainsFunc(ownImages, set) {
		for name, value := range images {
			if !set(name) {
				vars[name] = value
			}
		}
	}
	return vars
}
