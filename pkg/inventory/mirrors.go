package inventory

import (
	"encoding/json"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// mirrorsVar is kubespray's variable for containerd's registry mirrors. Kubespray writes a folder
// with a hosts.toml file for each prefix in it.
const mirrorsVar = "containerd_registries_mirrors"

// everyRegistry is the name of containerd's folder for all registries that have no folder of their
// own.
const everyRegistry = "_default"

// registries are the registries for which BPA writes a folder of containerd. If kubespray has run
// on a host without BPA, the host has a folder for docker.io. This folder takes precedence over
// everyRegistry and leads to the Internet, so BPA overwrites it. The other registries are those of
// kubespray's images.
var registries = []string{everyRegistry, "docker.io", "ghcr.io", "quay.io", "registry.k8s.io"}

// mirror is an entry of the variable that mirrorsVar names.
type mirror struct {
	Prefix  string       `json:"prefix"`
	Server  string       `json:"server"` // containerd tries it after the mirrors; empty: the upstream registry
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

// withTheirs merges BPA's mirrors with the user's entries. If both have an entry for a prefix, the
// user's entry is used. The user's value can also be something other than a list of entries, such
// as a template. withTheirs returns such a value unchanged.
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
	// The user's entries are last, because their prefixes can contain templates. The result of such
	// a template can be the prefix of one of BPA's entries. In that case the later entry is used,
	// which is the user's.
	for _, entry := range entries {
		all = append(all, entry)
	}
	return all
}
