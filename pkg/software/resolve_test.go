package software

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// listOf returns a list of the depot. Each line is "NAME VERSION FORMAT ARCHITECTURE OWNER/CLUSTER", or
// "NAME VERSION FORMAT ARCHITECTURE source:SYSTEM". Path and digest consist of the same words.
func listOf(t *testing.T, lines ...string) *protocol.PackageList {
	t.Helper()
	list := &protocol.PackageList{}
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) != 5 {
			t.Fatalf("line %q", line)
		}
		p := protocol.Package{Name: words[0], Version: words[1], Format: protocol.PackageFormat(words[2]), Architecture: words[3],
			Path: "/" + strings.Join(words, "/"), SHA256: "sha of " + line, Size: 7}
		if system, ok := strings.CutPrefix(words[4], "source:"); ok {
			p.System = system
		} else {
			p.Owner, p.Cluster, _ = strings.Cut(words[4], "/")
		}
		list.Packages = append(list.Packages, p)
	}
	rand.Shuffle(len(lines), func(i, j int) { list.Packages[i], list.Packages[j] = list.Packages[j], list.Packages[i] })
	return list
}

func TestResolve(t *testing.T) {
	for name, tc := range map[string]struct {
		version string // requested
		system  string // of the nodes
		lines   []string
		want    string // the version
		files   []string
		differ  map[string]string // the versions of the architectures
	}{
		"nothing":                            {},
		"nothing with a version":             {version: "1.5", want: "1.5"},
		"another package":                    {lines: []string{"jqp 1.5 deb amd64 c1/edge-1"}},
		"newest upload":                      {lines: []string{"jq 1.5 deb amd64 c1/edge-1", "jq 1.10 deb amd64 c1/edge-1", "jq 1.9 deb amd64 c1/edge-1"}, want: "1.10", files: []string{"jq 1.10 deb amd64 c1/edge-1"}},
		"requested version":                  {version: "1.5", lines: []string{"jq 1.5 deb amd64 c1/edge-1", "jq 1.10 deb amd64 c1/edge-1"}, want: "1.5", files: []string{"jq 1.5 deb amd64 c1/edge-1"}},
		"requested version is in no list":    {version: "1.6", lines: []string{"jq 1.5 deb amd64 c1/edge-1"}, want: "1.6"},
		"for all clusters of the owner":      {lines: []string{"jq 1.5 deb amd64 c1/edge-1", "jq 1.6 deb amd64 c1/all"}, want: "1.6", files: []string{"jq 1.6 deb amd64 c1/all"}},
		"another owner":                      {lines: []string{"jq 1.5 deb amd64 c2/edge-1", "jq 1.6 deb amd64 c2/all"}},
		"another cluster":                    {lines: []string{"jq 1.5 deb amd64 c1/edge-2"}},
		"the cluster's own file":             {lines: []string{"jq 1.5 deb amd64 c1/all", "jq 1.5 deb amd64 c1/edge-1", "jq 1.5 deb amd64 c1/the-label"}, want: "1.5", files: []string{"jq 1.5 deb amd64 c1/edge-1"}},
		"one file of each kind":              {lines: []string{"jq 1.5 tar x c1/all", "jq 1.5 deb arm64 c1/all", "jq 1.5 deb amd64 c1/all"}, want: "1.5", files: []string{"jq 1.5 deb amd64 c1/all", "jq 1.5 deb arm64 c1/all", "jq 1.5 tar x c1/all"}},
		"source of the system":               {system: "ubuntu-24.04", lines: []string{"jq 1.5 deb amd64 source:ubuntu-24.04", "jq 1.7 deb amd64 source:debian-13", "jq 1.6 deb amd64 source:ubuntu-24.04"}, want: "1.6"},
		"source of an unknown system":        {lines: []string{"jq 1.5 deb amd64 source:ubuntu-24.04"}},
		"requested version in a source":      {version: "1.5", system: "ubuntu-24.04", lines: []string{"jq 1.5 deb amd64 source:ubuntu-24.04", "jq 1.6 deb amd64 c1/all"}, want: "1.5"},
		"an upload counts more than sources": {system: "ubuntu-24.04", lines: []string{"jq 1.5 deb amd64 c1/all", "jq 1.6 deb amd64 source:ubuntu-24.04"}, want: "1.5", files: []string{"jq 1.5 deb amd64 c1/all"}},
		"rpm on a Debian system":             {system: "debian-13", lines: []string{"jq 2.0-1 rpm x86_64 c1/all", "jq 1.5 deb amd64 c1/all"}, want: "1.5", files: []string{"jq 1.5 deb amd64 c1/all"}},
		"only an rpm on a Debian system":     {system: "debian-13", lines: []string{"jq 1.0-1 rpm x86_64 c1/all"}},
		"only a deb on a system with rpm":    {system: "rocky-9.4", lines: []string{"jq 1.0-1 deb amd64 c1/all"}},
		"a requested rpm on a Debian system": {version: "1.0-1", system: "ubuntu-24.04", lines: []string{"jq 1.0-1 rpm x86_64 c1/all"}, want: "1.0-1"},
		"only an rpm on an unknown system":   {lines: []string{"jq 1.0~1-1 rpm x86_64 c1/all", "jq 1.0-1 rpm x86_64 c1/all"}, want: "1.0-1", files: []string{"jq 1.0-1 rpm x86_64 c1/all"}},
		"rpm on its system":                  {system: "rocky-9.4", lines: []string{"jq 1.0^git-1 rpm x86_64 c1/all", "jq 1.0-1 rpm x86_64 c1/all", "jq 2.0 deb amd64 c1/all"}, want: "1.0^git-1", files: []string{"jq 1.0^git-1 rpm x86_64 c1/all"}},
		"rpm before an apt source":           {system: "debian-13", lines: []string{"jq 1.0-1 rpm x86_64 c1/all", "jq 1.7 deb amd64 source:debian-13"}, want: "1.7"},
		"newer for another architecture":     {lines: []string{"jq 1.5 deb amd64 c1/all", "jq 1.5 deb arm64 c1/all", "jq 2.0 deb arm64 c1/all"}, want: "1.5", files: []string{"jq 1.5 deb amd64 c1/all", "jq 1.5 deb arm64 c1/all"}},
		"newer for all architectures":        {lines: []string{"jq 1.5 deb amd64 c1/all", "jq 1.5 tar aarch64 c1/all", "jq 2.0 tar x86_64 c1/all", "jq 2.0 deb arm64 c1/all"}, want: "2.0", files: []string{"jq 2.0 deb arm64 c1/all", "jq 2.0 tar x86_64 c1/all"}},
		"newer for any architecture":         {lines: []string{"jq 1.5 deb amd64 c1/all", "jq 1.5 deb arm64 c1/all", "jq 2.0 deb all c1/all"}, want: "2.0", files: []string{"jq 2.0 deb all c1/all"}},
		"no version for all architectures": {lines: []string{"jq 1.5 deb amd64 c1/all", "jq 1.5 deb arm64 c1/all", "jq 2.0 deb aarch64 c1/all", "jq 2.1 deb riscv64 c1/all"}, want: "1.5",
			files:  []string{"jq 1.5 deb amd64 c1/all", "jq 1.5 deb arm64 c1/all", "jq 2.0 deb aarch64 c1/all", "jq 2.1 deb riscv64 c1/all"},
			differ: map[string]string{"amd64": "1.5", "arm64": "2.0", "riscv64": "2.1"}},
		"no version for all architectures, and one for any": {lines: []string{"jq 1.5 deb all c1/all", "jq 2.0 deb arm64 c1/all", "jq 2.0 deb amd64 c1/all"}, want: "2.0", files: []string{"jq 2.0 deb amd64 c1/all", "jq 2.0 deb arm64 c1/all"}},
		"no version of a source for all architectures": {system: "debian-13", lines: []string{"jq 1.5 deb amd64 source:debian-13", "jq 2.0 deb arm64 source:debian-13"}, want: "2.0",
			differ: map[string]string{"amd64": "1.5", "arm64": "2.0"}},
		"requested version for one architecture":           {version: "2.0", lines: []string{"jq 1.5 deb amd64 c1/all", "jq 1.5 deb arm64 c1/all", "jq 2.0 deb arm64 c1/all"}, want: "2.0", files: []string{"jq 2.0 deb arm64 c1/all"}},
		"source with a newer one for another architecture": {system: "debian-13", lines: []string{"jq 1.5 deb amd64 source:debian-13", "jq 1.5 deb arm64 source:debian-13", "jq 2.0 deb arm64 source:debian-13"}, want: "1.5"},
		"equal versions": {lines: []string{"jq 1.0 deb amd64 c1/all", "jq 1.00 deb amd64 c1/all"}, want: "1.00", files: []string{"jq 1.00 deb amd64 c1/all"}},
	} {
		t.Run(name, func(t *testing.T) {
			owner := Owner{Name: "c1", Clusters: []string{"edge-1", "the-label", protocol.ClusterAll}, System: tc.system}
			wanted := []contract.Software{{Name: "jq", Workers: true, Version: tc.version, Pinned: tc.version != ""}}
			want := contract.Software{Name: "jq", Workers: true, Version: tc.want, Pinned: tc.version != "", Versions: tc.differ}
			for _, line := range tc.files {
				p := listOf(t, line).Packages[0]
				want.Files = append(want.Files, contract.SoftwareFile{Format: string(p.Format), Architecture: p.Architecture, Path: p.Path, SHA256: p.SHA256, Size: 7})
				if tc.differ != nil {
					want.Files[len(want.Files)-1].Version = p.Version
				}
			}
			if diff := cmp.Diff([]contract.Software{want}, Resolve(wanted, owner, listOf(t, tc.lines...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if wanted[0].Version != tc.version || wanted[0].Files != nil {
				t.Errorf("the argument has become %+v", wanted)
			}
		})
	}
}

// TestResolveWithoutList checks that nothing is planned before the depot's list is known: a run could otherwise
// install an older version than the depot's, or fail because the version is only an upload.
func TestResolveWithoutList(t *testing.T) {
	wanted := []contract.Software{{Name: "conflict", Problem: "two versions"}, {Name: "curl", Workers: true}, {Name: "jq", Version: "1.5", Pinned: true, Workers: true}}
	got := Resolve(wanted, Owner{}, nil)
	want := []contract.Software{{Name: "conflict", Problem: "two versions"}, {Name: "curl", Workers: true, Problem: unknownVersions}, {Name: "jq", Version: "1.5", Pinned: true, Workers: true, Problem: unknownFile}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wanted[:1], Resolve(wanted[:1], Owner{}, listOf(t, "conflict 1 deb amd64 c1/all"))); diff != "" {
		t.Errorf("a conflict (-want +got):\n%s", diff)
	}
}

// TestKeep: without the depot, packages keep the version that the depot has decided. Packages whose version
// a Software or the sources of the nodes decide do not depend on the depot.
func TestKeep(t *testing.T) {
	jq := contract.Software{Name: "jq", Workers: true}
	pinned, held := jq, jq
	pinned.Pinned, pinned.Version, held.Hold = true, "1.6", true
	upload := contract.Software{Version: "1.6", Files: []contract.SoftwareFile{{SHA256: "abc"}}}
	architectures := contract.Software{Version: "1.6", Versions: map[string]string{"amd64": "1.7"}}
	heldUpload := upload
	heldUpload.Hold = true
	for name, tc := range map[string]struct {
		wanted contract.Software
		intent string
		used   bool // the cluster was installed from the depot
		keeps  bool
	}{
		"an upload":                           {jq, contract.SoftwareIntent(upload), false, true},
		"a held upload":                       {held, contract.SoftwareIntent(heldUpload), false, true},
		"another version for an architecture": {jq, contract.SoftwareIntent(architectures), false, true},
		"of the depot's apt source":           {jq, contract.SoftwareIntent(contract.Software{Version: "1.6"}), true, true},
		"a version that was removed from the Software, without a depot": {jq, contract.SoftwareIntent(pinned), false, false},
		"of the node's sources": {jq, contract.SoftwareIntent(jq), true, false},
		"named version":         {pinned, contract.SoftwareIntent(upload), true, false},
		"new":                   {jq, "", true, false},
		"removed before":        {jq, contract.SoftwareRemoval, true, false},
	} {
		record := contract.SoftwareRecord{Nodes: []contract.SoftwareNode{rowsOf(contract.SoftwarePackage{Name: "curl", Intent: "v1 2 def"}, contract.SoftwarePackage{Name: "jq", Intent: tc.intent})}}
		got := Keep([]contract.Software{tc.wanted}, record, tc.used)
		if keeps := got[0].Problem == NoDepot; keeps != tc.keeps {
			t.Errorf("%s: problem %q", name, got[0].Problem)
		}
	}
}
