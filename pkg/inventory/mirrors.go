package inventory

import (
	"encoding/json"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// mirrorsVar is kubespray's variable for containerd's registry mirrors. Kubespray writes a folder
// with a hosts.toml file for each prefix in it.
const mirrorsVar = "containerd_registries_mirrors"

// everyRegistry is containerd's folder for registries that have no folder with their name.
const everyRegistry = "_default"

// registries are the registries with a folder. On a host where kubespray ran without BPA, a folder
// for docker.io exists; it takes precedence over everyRegistry and leads to the Internet, so BPA
// overwrites it. The others are the registries of kubespray's images.
var registries = []string{everyRegistry, "docker.io", "ghcr.io", "quay.io", "registry.k8s.io"}

// mirror is an entry of kubespray's variable.
type mirror struct {
	Prefix  string       `json:"prefix"`
	Server  string       `json:"server"` // tried last; if it is empty, containerd uses the upstream registry
	Mirrors []mirrorHost `json:"mirrors"`
}

type mirrorHost struct {
	Host         string   `json:"host"`
	Capabilities []string `json:"capabilities"`
	SkipVerify   bool     `json:"skip_verify"`
	CA           string   `json:"ca,omitempty"` // path on the node
}

// depotMirrors returns mirrors with which nodes pull the images of every registry only from the
// depot. Images keep their names.
func depotMirrors(depot string, ownCA bool) (all []mirror) {
	host := mirrorHost{Host: depot, Capabilities: []string{"pull", "resolve"}, SkipVerify: strings.HasPrefix(depot, "http://")}
	if ownCA {
		host.CA = contract.DepotCAPath
	}
	for _, registry := range registries {
		all = append(all, mirror{Prefix: registry, Server: depot, Mirrors: []mirrorHost{host}})
	}
	return all
}

// withTheirs merges our mirrors with the user's entries. For the same prefix the user's entry wins.
// If the user's value is not a list of such entries, such as a template, withTheirs returns it
// unchanged.
func withTheirs(ours []mirror, theirs json.RawMessage) any {
	var entries []json.RawMessage
	if json.Unmarshal(theirs, &entries) != nil || entries == nil {
		return theirs
	}
	taken := map[string]bool{}
	for _, entry := range entries {
		var named struct {
			Prefix string `json:"prefix"`
		}
		if json.Unmarshal(entry, &named) != nil || named.Prefix == "" {
			return theirs
		}
		taken[named.Prefix] = true
	}
	var all []any
	for _, m := range ours {
		if !taken[m.Prefix] {
			all = append(all, m)
		}
	}
	for _, entry := range entries { // last: if a template yields the same prefix, the later entry wins
		all = append(all, entry)
	}
	return all
}
