package acceleration

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// waiting are variables of kubespray that shorten the pauses between two attempts, with the numbers of
// attempts that keep the time until kubespray gives up. kubespray has these pauses: retry_stagger seconds
// for the download of a file, and 3 + random(retry_stagger) seconds for etcd, packages and others.
var waiting = map[string]any{
	"retry_stagger":       1,  // kubespray: 5
	"download_retries":    20, // kubespray: 4
	"etcd_retries":        7,  // kubespray: 4
	"pkg_install_retries": 7,  // kubespray: 4
}

// images are variables of kubespray that leave the pulling of images to kubeadm and the kubelet.
// kubespray itself pulls them one after the other before it goes on.
var images = map[string]any{
	"download_container":  false,
	"skip_kubeadm_images": true, // lists the images that download_container would pull
}

// ownImages are variables of kubespray with which the user decides how images get onto the nodes.
var ownImages = []string{"download_container", "skip_kubeadm_images", "download_run_once", "download_localhost", "download_force_cache"}

// ExtraVars returns the variables of kubespray for one run of a playbook that only remove waiting, and
// work that is done twice. Variables of the request override them. They are extra variables of the run
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
		_, own := request.Vars[name]
		_, plugins := request.PluginVars[name]
		return own || plugins
	}
	if !set("retry_stagger") {
		for name, value := range waiting {
			if !set(name) {
				vars[name] = value
			}
		}
	}
	if playbook != contract.PlaybookUpgrade && !slices.ContainsFunc(ownImages, set) {
		for name, value := range images {
			vars[name] = value
		}
	}
	return vars
}
