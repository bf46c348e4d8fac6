package inventory

import (
	"encoding/json"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// mirrorsVar is kubespray's variable with what becomes containerd's hosts.toml files, a folder for each prefix.
const mirrorsVar = "containerd_registries_mirrors"

// everyRegistry is containerd's folder for registries that have none of their own.
const everyRegistry = "_default"

// registries get a folder of their own all the same: a host on which kubespray ran without BPA has one of docker.io, which goes before
// everyRegistry and leads to the Internet. The others are those that kubespray's images come from.
var registries = []string{everyRegistry, "docker.io", "ghcr.io", "quay.io", "registry.k8s.io"}

// mirror is an entry of kubespray's variable.
type mirror struct {
	Prefix  string       `json:"prefix"`
	Server  string       `json:"server"` // asked last; upstream, if it were empty
	Mirrors []mirrorHost `json:"mirrors"`
}

type mirrorHost struct {
	Host         string   `json:"host"`
	Capabilities []string `json:"capabilities"`
	SkipVerify   bool     `json:"skip_verify"`
	CA           string   `json:"ca,omitempty"` // path on the node
}

// depotMirrors have nodes ask the depot and nobody else for the images of every registry, so images keep their names.
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

// withTheirs adds the entries that a person gives; theirs win by their prefix. What is no list of such entries, such as a template, is theirs
// alone.
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
	for _, entry := range entries { // last: of two with one name, such as by a template, the later file stays
		all = append(all, entry)
	}
	return all
}
