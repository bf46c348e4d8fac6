package contract

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
)

// DefaultRelease is the kubespray release whose Tasks BPA installs without a release in their names.
const DefaultRelease = "v2.31.0"

// unnamedRelease is the release of a digest without a release. Builds that wrote such digests had it as
// DefaultRelease. It never changes, because records of clusters contain such digests.
const unnamedRelease = "v2.31.0"

// Settings returns a digest of Vars and SecretVars, which are those of a node without own variables. It does not depend on spaces and on the order of keys. Another
// release than unnamedRelease precedes it, as "v2.32.0/DIGEST": the release decides on the versions of
// the components, too.
func (s Spec) Settings() string {
	digest := digestOf(s.AllVars())
	release := cmp.Or(s.Release, DefaultRelease)
	if release == unnamedRelease {
		return digest
	}
	return release + "/" + digest
}

// digests has the results of digestOf by what they are of: a visit of the controller asks for the same ones hundreds of
// times.
var (
	digests     = map[string]string{}
	digestsLock sync.RWMutex
)

// mostDigests limits the number of digests that are remembered.
const mostDigests = 1000

// digestOf returns a digest of variables.
func digestOf(vars map[string]json.RawMessage) string {
	var few [8]string // on the stack, as the key
	names := few[:0]
	for name := range vars {
		names = append(names, name)
	}
	slices.Sort(names)
	text := make([]byte, 0, 512)
	for _, name := range names {
		text = append(binary.AppendUvarint(text, uint64(len(name))), name...)
		text = append(binary.AppendUvarint(text, uint64(len(vars[name]))), vars[name]...)
	}
	digestsLock.RLock()
	digest, known := digests[string(text)]
	digestsLock.RUnlock()
	if known {
		return digest
	}
	digest = computeDigest(vars)
	digestsLock.Lock()
	defer digestsLock.Unlock()
	if len(digests) >= mostDigests {
		clear(digests)
	}
	digests[string(text)] = digest
	return digest
}

func computeDigest(vars map[string]json.RawMessage) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		value := []byte(vars[name])
		var parsed any
		decoder := json.NewDecoder(bytes.NewReader(value))
		decoder.UseNumber()
		if decoder.Decode(&parsed) == nil {
			if text, err := json.Marshal(parsed); err == nil {
				value = text
			}
		}
		line, _ := json.Marshal([]string{name, string(value)}) // strings can always be encoded
		sum.Write(line)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// ReleaseOf returns the release in the result of Settings.
func ReleaseOf(settings string) string {
	if release, _, found := strings.Cut(settings, "/"); found {
		return release
	}
	return unnamedRelease
}

// Level returns the Kubernetes version and the digest of the variables of an installed node.
func (i Installed) Level(n Node) (version, settings string) {
	version, settings = n.Version, n.Settings
	if version == "" {
		version = i.Request.KubernetesVersion
	}
	if settings == "" {
		settings = i.Request.SettingsOf(n)
	}
	return version, settings
}

// PatchOf returns the patch level of an installed node; empty: it was never patched.
func (i Installed) PatchOf(n Node) string {
	if n.Patched != "" {
		return n.Patched
	}
	return i.Patched
}

// SettlePatched makes the patch level that all nodes have that of the cluster, which a node that joins
// later counts as having.
func (i *Installed) SettlePatched() {
	if len(i.Nodes) == 0 || slices.ContainsFunc(i.Nodes, func(n Node) bool { return i.PatchOf(n) != i.PatchOf(i.Nodes[0]) }) {
		return
	}
	i.Patched = i.PatchOf(i.Nodes[0])
	i.Nodes = slices.Clone(i.Nodes)
	for n := range i.Nodes {
		i.Nodes[n].Patched = ""
	}
}

// Stamped returns the nodes as they are to be stored together with the request. A node whose version or variables differ
// from those of the request gets its own ones, which would otherwise be those of the request.
func (i Installed) Stamped(r Request) []Node {
	nodes := slices.Clone(i.Nodes)
	for n, node := range nodes {
		if i.Request.KubernetesVersion != r.KubernetesVersion || i.Request.SettingsOf(node) != r.SettingsOf(node) {
			nodes[n].Version, nodes[n].Settings = i.Level(node)
		}
	}
	return nodes
}
