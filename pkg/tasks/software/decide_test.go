package software

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

var (
	sum     = strings.Repeat("a", 64)
	debFile = contract.SoftwareFile{Format: "deb", Architecture: "amd64", Path: "/files/tool.deb", SHA256: strings.Repeat("c", 64)}
	tarFile = contract.SoftwareFile{Format: "tar", Path: "/files/tool.tar", SHA256: sum}
	rpmFile = contract.SoftwareFile{Format: "rpm", Architecture: "x86_64", Path: "/files/tool.rpm", SHA256: sum}
)

func tool(version string, files ...contract.SoftwareFile) contract.Software {
	return contract.Software{Name: "tool", Version: version, Workers: true, Files: files, Disruption: contract.DisruptionNone}
}

func with(p contract.Software, change func(*contract.Software)) contract.Software {
	change(&p)
	return p
}

// row returns a record of the package tool.
func row(p contract.Software, installed string, state contract.SoftwareState, ours bool) contract.SoftwarePackage {
	return contract.SoftwarePackage{Name: "tool", Wanted: p.Version, Installed: installed, State: state, Ours: ours, Intent: contract.SoftwareIntent(p), Message: "as before"}
}

// of returns a record of a package that BPA has installed in a format.
func of(format string, row contract.SoftwarePackage) contract.SoftwarePackage {
	row.Format = format
	return row
}

// gone returns a record of a package that no source had.
func gone(row contract.SoftwarePackage) contract.SoftwarePackage {
	row.Missing = true
	return row
}

// has returns what a node of Debian has: a version that is older than 2.0 and newer than 0.1.
func has(native string) SeenPackage {
	order := map[string]map[string]int{"1.0": {"2.0": -1, "0.1": 1, "1.0": 0}, "2.0": {"1.0": 1}}
	return SeenPackage{Native: native, Candidate: "2.0", Versions: []string{"2.0", "1.0"}, Order: order}
}

func TestDecide(t *testing.T) {
	pinned := func(p contract.Software) contract.Software { p.Pinned = true; return p }
	held := func(p contract.Software) contract.Software { p.Hold = true; return p }
	marked := SeenPackage{Tar: &Mark{Version: "1.0", SHA256: sum}}
	asked := contract.SoftwareRun{Asked: "now"}
	for _, tc := range []struct {
		name   string
		run    contract.SoftwareRun // without its packages
		wants  []contract.Software
		rows   []contract.SoftwarePackage
		seen   SeenPackage
		system string // default apt
		notes  []string
		stays  bool   // the run does not change the node
		want   string // the action, then the state, "ours", and a part of the message
	}{
		{name: "absent, upload", wants: []contract.Software{tool("1.0", debFile)}, want: "install 1.0 deb, Installing ours"},
		{name: "absent, sources", wants: []contract.Software{tool("")}, seen: has(""), want: "install 2.0, Installing ours"},
		{name: "absent, pinned in the sources", wants: []contract.Software{pinned(tool("1.0"))}, seen: has(""), want: "install 1.0, Installing ours"},
		{name: "there before", wants: []contract.Software{tool("1.0", debFile)}, seen: has("1.0"), want: "Installed"},
		{name: "older, there before", wants: []contract.Software{tool("2.0", debFile)}, seen: has("1.0"), want: "install 2.0 deb, Installing"},
		{name: "older, of BPA", wants: []contract.Software{tool("2.0", debFile)}, seen: has("1.0"), rows: []contract.SoftwarePackage{row(tool("1.0"), "1.0", contract.SoftwareInstalled, true)},
			want: "install 2.0 deb, Installing ours"},
		{name: "newer than the depot", wants: []contract.Software{tool("0.1", debFile)}, seen: has("1.0"), want: "Installed"},
		{name: "newer than pinned", wants: []contract.Software{pinned(tool("0.1", debFile))}, seen: has("1.0"), want: "install 0.1 deb downgrade, Installing"},
		{name: "killed before it was stored", wants: []contract.Software{tool("1.0", debFile)}, seen: has("1.0"),
			rows: []contract.SoftwarePackage{{Name: "tool", State: contract.SoftwareInstalling, Ours: true}}, want: "Installed ours"},
		{name: "newer in the sources", wants: []contract.Software{tool("")}, seen: has("1.0"), rows: []contract.SoftwarePackage{row(tool(""), "1.0", contract.SoftwareInstalled, true)},
			want: "Installed ours: version 2.0 is in the node's package sources"},
		{name: "newer in the sources, retry", run: asked, wants: []contract.Software{tool("")}, seen: has("1.0"), rows: []contract.SoftwarePackage{row(tool(""), "1.0", contract.SoftwareInstalled, true)},
			want: "Installed ours: version 2.0 is in the node's package sources"},
		{name: "newer in the sources, check", stays: true, wants: []contract.Software{tool("")}, seen: has("1.0"), rows: []contract.SoftwarePackage{row(tool(""), "1.0", contract.SoftwareInstalled, true)},
			want: "Installed ours: version 2.0 is in the node's package sources"},
		{name: "newer in the sources, update", run: contract.SoftwareRun{Update: true, Asked: "now update"}, wants: []contract.Software{tool("")}, seen: has("1.0"),
			rows: []contract.SoftwarePackage{row(tool(""), "1.0", contract.SoftwareInstalled, true)}, want: "install 2.0, Installing ours"},
		{name: "newer in the sources, update of other nodes", run: contract.SoftwareRun{Update: true}, stays: true, wants: []contract.Software{tool("")}, seen: has("1.0"),
			rows: []contract.SoftwarePackage{row(tool(""), "1.0", contract.SoftwareInstalled, true)}, want: "Installed ours: version 2.0"},
		{name: "newer in the sources, there before", wants: []contract.Software{tool("")}, seen: has("1.0"), want: "install 2.0, Installing"},
		{name: "another run's node", stays: true, wants: []contract.Software{tool("1.0", debFile)}, want: "Pending: does not change the node"},

		{name: "held and absent", wants: []contract.Software{held(tool("2.0", debFile))}, want: "install 2.0 deb, Installing ours"},
		{name: "held", wants: []contract.Software{held(tool("2.0", debFile))}, seen: has("1.0"), want: "Outdated: version 2.0 is available"},
		{name: "held, update", run: contract.SoftwareRun{Update: true}, wants: []contract.Software{held(tool("2.0", debFile))}, seen: has("1.0"), want: "install 2.0 deb, Installing"},

		{name: "missing", wants: []contract.Software{tool("")}, want: "Failed: package tool does not exist"},
		{name: "missing in an outage", notes: []string{"apt-get update failed: E: no route to host"}, wants: []contract.Software{tool("")}, want: "Pending: no route to host"},
		{name: "missing version in an outage", notes: []string{"apt-get update failed: E: no route to host"}, wants: []contract.Software{pinned(tool("3.0"))}, seen: has("1.0"), want: "Pending: no route to host"},
		{name: "found in spite of an outage", notes: []string{"apt-get update failed"}, wants: []contract.Software{tool("")}, seen: has(""), want: "install 2.0, Installing ours"},
		{name: "still missing", wants: []contract.Software{tool("")}, rows: []contract.SoftwarePackage{gone(row(tool(""), "", contract.SoftwareFailed, false))}, want: "Failed: as before"},
		{name: "found later", wants: []contract.Software{tool("")}, seen: has(""), rows: []contract.SoftwarePackage{gone(row(tool(""), "", contract.SoftwareFailed, false))}, want: "install 2.0, Installing ours"},
		{name: "found later, another run's node", stays: true, wants: []contract.Software{tool("")}, seen: has(""), rows: []contract.SoftwarePackage{gone(row(tool(""), "", contract.SoftwareFailed, false))},
			want: "Pending: the next one installs it"},
		{name: "missing version", wants: []contract.Software{pinned(tool("3.0"))}, seen: has("1.0"), want: "Failed: only 2.0, 1.0"},
		{name: "rpm on Debian", wants: []contract.Software{tool("1.0", rpmFile)}, want: "Failed: only as rpm x86_64, and the node (amd64) installs deb packages"},
		{name: "other architecture", wants: []contract.Software{tool("1.0", contract.SoftwareFile{Format: "deb", Architecture: "arm64", Path: "/x", SHA256: sum})}, want: "Failed: only as deb arm64"},
		{name: "rpm", system: "dnf", wants: []contract.Software{tool("1.0", rpmFile, debFile)}, want: "install 1.0 rpm, Installing ours"},
		{name: "deb before tar", wants: []contract.Software{tool("1.0", tarFile, debFile)}, want: "install 1.0 deb, Installing ours"},
		{name: "problem", wants: []contract.Software{with(tool("1.0", debFile), func(p *contract.Software) { p.Problem = "two versions" })}, seen: has("1.0"), want: "dropped"},
		{name: "problem after an installation", wants: []contract.Software{with(tool("2.0", debFile), func(p *contract.Software) { p.Problem = "two versions" })}, seen: has("1.0"),
			rows: []contract.SoftwarePackage{row(tool("1.0"), "1.0", contract.SoftwareInstalled, true)}, want: "Installed ours: as before"},
		{name: "problem of other nodes", wants: []contract.Software{{Name: "tool", ControlPlanes: true, Problem: "two versions"}}, seen: has("1.0"),
			rows: []contract.SoftwarePackage{row(tool("1.0"), "1.0", contract.SoftwareInstalled, true)}, want: "Installed ours: as before"},
		{name: "unwanted, an entry cannot be read", wants: []contract.Software{{Problem: "an entry cannot be read"}}, seen: has("1.0"),
			rows: []contract.SoftwarePackage{row(tool("1.0"), "1.0", contract.SoftwareInstalled, true)}, want: "Installed ours: as before"},
		{name: "upload is gone, and removed by hand", wants: []contract.Software{pinned(tool("1.0"))}, seen: has(""),
			rows: []contract.SoftwarePackage{row(pinned(tool("1.0", debFile)), "1.0", contract.SoftwareInstalled, true)}, want: "Drifted ours: has removed version 1.0"},
		{name: "failed before", wants: []contract.Software{tool("1.0", debFile)}, rows: []contract.SoftwarePackage{row(tool("1.0", debFile), "", contract.SoftwareFailed, false)}, want: "Failed: as before"},
		{name: "failed before, asked", run: asked, wants: []contract.Software{tool("1.0", debFile)}, rows: []contract.SoftwarePackage{row(tool("1.0", debFile), "", contract.SoftwareFailed, false)},
			want: "install 1.0 deb, Installing ours"},
		{name: "failed before, check", stays: true, run: contract.SoftwareRun{Asked: "now check", CheckOnly: true}, wants: []contract.Software{tool("1.0", debFile)},
			rows: []contract.SoftwarePackage{row(tool("1.0", debFile), "", contract.SoftwareFailed, false)}, want: "Failed: as before"},
		{name: "failed before, another upload", wants: []contract.Software{tool("1.1", debFile)}, rows: []contract.SoftwarePackage{row(tool("1.0", debFile), "", contract.SoftwareFailed, false)},
			want: "install 1.1 deb, Installing ours"},

		{name: "removed by hand", wants: []contract.Software{tool("1.0", debFile)}, rows: []contract.SoftwarePackage{row(tool("1.0", debFile), "1.0", contract.SoftwareInstalled, true)},
			want: "Drifted ours: somebody else has removed version 1.0"},
		{name: "replaced by hand", wants: []contract.Software{tool("2.0", debFile)}, seen: has("1.0"), rows: []contract.SoftwarePackage{row(tool("2.0", debFile), "2.0", contract.SoftwareInstalled, true)},
			want: "Drifted ours: somebody else has replaced version 2.0 by 1.0"},
		{name: "still drifted", wants: []contract.Software{tool("1.0", debFile)}, rows: []contract.SoftwarePackage{row(tool("1.0", debFile), "", contract.SoftwareDrifted, true)}, want: "Drifted ours: as before"},
		{name: "repair", run: asked, wants: []contract.Software{tool("1.0", debFile)}, rows: []contract.SoftwarePackage{row(tool("1.0", debFile), "", contract.SoftwareDrifted, true)},
			want: "install 1.0 deb, Installing ours"},
		{name: "repaired by hand", wants: []contract.Software{tool("1.0", debFile)}, seen: has("1.0"), rows: []contract.SoftwarePackage{row(tool("1.0", debFile), "", contract.SoftwareDrifted, true)},
			want: "Installed ours"},
		{name: "half installed", wants: []contract.Software{tool("1.0", debFile)}, seen: SeenPackage{Native: "1.0", Broken: true}, want: "install 1.0 deb, Installing"},

		{name: "tar", wants: []contract.Software{tool("1.0", tarFile)}, want: "install 1.0 tar, Installing ours"},
		{name: "tar is there", wants: []contract.Software{tool("1.0", tarFile)}, seen: marked, want: "Installed ours"},
		{name: "tar with other content", wants: []contract.Software{tool("1.0", contract.SoftwareFile{Format: "tar", Path: "/x", SHA256: strings.Repeat("b", 64)})}, seen: marked,
			rows: []contract.SoftwarePackage{row(tool("1.0", tarFile), "1.0", contract.SoftwareInstalled, true)}, want: "install 1.0 tar, Installing ours"},
		{name: "tar whose upload is gone", wants: []contract.Software{tool("")}, seen: marked,
			rows: []contract.SoftwarePackage{row(tool("1.0", tarFile), "1.0", contract.SoftwareInstalled, true)}, want: "Installed ours"},
		{name: "deb whose upload is gone", wants: []contract.Software{pinned(tool("1.0"))}, seen: SeenPackage{Native: "1.0", Candidate: "1.0"},
			rows: []contract.SoftwarePackage{row(pinned(tool("1.0", debFile)), "1.0", contract.SoftwareInstalled, true)}, want: "Installed ours"},
		{name: "deb in the place of tar", wants: []contract.Software{tool("1.0", debFile)}, seen: marked,
			rows: []contract.SoftwarePackage{row(tool("1.0", tarFile), "1.0", contract.SoftwareInstalled, true)}, want: "install 1.0 deb replaces, Installing ours"},

		{name: "deb of the system in the place of tar", wants: []contract.Software{tool("1.0", debFile)}, seen: has("1.0"),
			rows: []contract.SoftwarePackage{of("tar", row(tool("1.0", tarFile), "1.0", contract.SoftwareInstalled, true))}, want: "Installed"},
		{name: "update of the system's deb in the place of tar", wants: []contract.Software{tool("2.0", debFile)}, seen: SeenPackage{Native: "1.0", Tar: marked.Tar},
			rows: []contract.SoftwarePackage{of("tar", row(tool("1.0", tarFile), "1.0", contract.SoftwareInstalled, true))}, want: "install 2.0 deb replaces, Installing"},
		{name: "update of BPA's deb", wants: []contract.Software{tool("2.0", debFile)}, seen: has("1.0"),
			rows: []contract.SoftwarePackage{of("deb", row(tool("1.0", debFile), "1.0", contract.SoftwareInstalled, true))}, want: "install 2.0 deb, Installing ours"},

		{name: "unwanted, of BPA", seen: has("1.0"), rows: []contract.SoftwarePackage{row(tool("1.0"), "1.0", contract.SoftwareInstalled, true)}, want: "remove, Removing ours"},
		{name: "unwanted tar", seen: marked, rows: []contract.SoftwarePackage{row(tool("1.0"), "1.0", contract.SoftwareInstalled, true)}, want: "remove tar, Removing ours"},
		{name: "unwanted tar is gone, the system's deb stays", seen: has("1.0"), rows: []contract.SoftwarePackage{of("tar", row(tool("1.0"), "1.0", contract.SoftwareInstalled, true))}, want: "dropped"},
		{name: "unwanted deb", seen: has("1.0"), rows: []contract.SoftwarePackage{of("deb", row(tool("1.0"), "1.0", contract.SoftwareInstalled, true))}, want: "remove, Removing ours"},
		{name: "unwanted, of others", seen: has("1.0"), rows: []contract.SoftwarePackage{row(tool("1.0"), "1.0", contract.SoftwareInstalled, false)}, want: "dropped"},
		{name: "unwanted and gone", rows: []contract.SoftwarePackage{row(tool("1.0"), "1.0", contract.SoftwareInstalled, true)}, want: "dropped"},
		{name: "unwanted on workers only", wants: []contract.Software{{Name: "tool", ControlPlanes: true}}, seen: has("1.0"),
			rows: []contract.SoftwarePackage{row(tool("1.0"), "1.0", contract.SoftwareInstalled, true)}, want: "remove, Removing ours"},
		{name: "unwanted, another run's node", stays: true, seen: has("1.0"), rows: []contract.SoftwarePackage{row(tool("1.0"), "1.0", contract.SoftwareInstalled, true)}, want: "Pending ours: the next run removes it"},
		{name: "removal failed", seen: has("1.0"), rows: []contract.SoftwarePackage{{Name: "tool", State: contract.SoftwareFailed, Ours: true, Intent: contract.SoftwareRemoval, Message: "needed"}}, want: "Failed ours: needed"},
		{name: "removal failed, asked", run: asked, seen: has("1.0"), rows: []contract.SoftwarePackage{{Name: "tool", State: contract.SoftwareFailed, Ours: true, Intent: contract.SoftwareRemoval}}, want: "remove, Removing ours"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.run.Packages = tc.wants
			if tc.system == "" {
				tc.system = "apt"
			}
			all := Decide(Rules{Run: tc.run, DepotURL: "http://depot"}, Node{Roles: []string{contract.RoleWorker}, Changes: !tc.stays, Rows: tc.rows,
				Seen: Seen{Manager: tc.system, Architecture: "amd64", Packages: map[string]SeenPackage{"tool": tc.seen}, Notes: tc.notes}})
			if len(all) != 1 {
				t.Fatalf("%d decisions: %+v", len(all), all)
			}
			want, part, _ := strings.Cut(tc.want, ": ")
			if r := all[0].Row; r.Format != "" && !r.Ours && !all[0].Drop {
				t.Errorf("a package that is not BPA's has format %s", r.Format)
			}
			if r := all[0].Row; r.State == contract.SoftwarePending && len(tc.wants) > 0 && r.Intent != "" || r.Missing && r.State != contract.SoftwareFailed {
				t.Errorf("row %+v", r)
			}
			if got := text(all[0]); got != want || !strings.Contains(all[0].Row.Message, part) {
				t.Errorf("got %s: %s, want %s", got, all[0].Row.Message, tc.want)
			}
		})
	}
}

// Each node gets the version of its architecture, if they differ. What a run was to do does not depend on it,
// because the reconciler does not know the architecture of a new node.
func TestDecideByArchitecture(t *testing.T) {
	other := contract.SoftwareFile{Format: "deb", Architecture: "arm64", Path: "/files/arm.deb", SHA256: sum, Version: "2.0"}
	mine := debFile
	mine.Version = "1.0"
	p := tool("2.0", mine, other)
	p.Versions = map[string]string{"amd64": "1.0", "arm64": "2.0"}
	for architecture, want := range map[string]string{"amd64": "install 1.0 deb, Installing ours", "aarch64": "install 2.0 deb, Installing ours", "riscv64": "Failed"} {
		d := Decide(Rules{Run: contract.SoftwareRun{Packages: []contract.Software{p}}, DepotURL: "http://depot"}, Node{Roles: []string{contract.RoleWorker}, Changes: true,
			Seen: Seen{Manager: "apt", Architecture: architecture, Packages: map[string]SeenPackage{"tool": {}}}})[0]
		if got := text(d); got != want || d.intent != contract.SoftwareIntent(p) {
			t.Errorf("%s: %s (%s), want %s", architecture, got, d.Row.Message, want)
		}
	}
}

// text returns a decision as the table has it.
func text(d Decision) string {
	if d.Drop {
		return "dropped"
	}
	said := ""
	if a := d.Action; a != nil {
		said = strings.TrimSpace(a.Do + " " + a.Version)
		if a.File != nil {
			said += " " + a.File.Format
		}
		for word, is := range map[string]bool{" downgrade": a.Downgrade, " tar": a.Tar, " replaces": a.ReplacesTar} {
			if is {
				said += word
			}
		}
		said += ", "
	}
	said += string(d.Row.State)
	if d.Row.Ours {
		said += " ours"
	}
	return said
}

// What the node has after an action counts, and not only that the action reports no error.
func TestResult(t *testing.T) {
	d := Decision{Row: contract.SoftwarePackage{Name: "tool", Ours: true}, Action: &Action{Do: "install", Name: "tool", Version: "2.0"}, intent: "i"}
	for _, tc := range []struct {
		seen Seen
		want contract.SoftwarePackage
	}{
		{Seen{Packages: map[string]SeenPackage{"tool": {Native: "2.0"}}}, contract.SoftwarePackage{Name: "tool", Installed: "2.0", State: contract.SoftwareInstalled, Ours: true, Intent: "i"}},
		{Seen{Packages: map[string]SeenPackage{"tool": {Native: "1.0"}}}, contract.SoftwarePackage{Name: "tool", Installed: "1.0", State: contract.SoftwareFailed, Ours: true, Intent: "i",
			Message: "its installation succeeded, but the node has 1.0"}},
		{Seen{Errors: map[string]string{"tool": "E: no"}}, contract.SoftwarePackage{Name: "tool", State: contract.SoftwareFailed, Intent: "i", Message: "E: no"}},
		{Seen{Errors: map[string]string{"tool": "E: no"}, Later: []string{"tool"}}, contract.SoftwarePackage{Name: "tool", State: contract.SoftwarePending, Later: true, Message: "BPA tries again: E: no"}},
	} {
		if diff := cmp.Diff(tc.want, d.result(tc.seen).Row); diff != "" {
			t.Errorf("row (-want +got):\n%s", diff)
		}
	}
}

// Whatever the request says, only safe names and versions become actions.
func FuzzDecide(f *testing.F) {
	for _, s := range []string{"tool", "-o", "--purge", "a b", "$(id)", "{{ x }}", "../x", "tool=1", "tool;id", "1.0\n", ""} {
		f.Add(s, s, "/files/"+s, "deb", sum)
	}
	f.Add("tool", "$(id)", "/x", "deb", sum)
	f.Fuzz(func(t *testing.T, name, version, path, format, digest string) {
		file := contract.SoftwareFile{Format: format, Path: path, SHA256: digest}
		seen := SeenPackage{Candidate: version, Versions: []string{version}}
		for _, p := range []contract.Software{{Name: name, Version: version, Pinned: true, Workers: true}, {Name: name, Workers: true}, {Name: name, Version: version, Workers: true, Files: []contract.SoftwareFile{file}}} {
			for _, d := range Decide(Rules{Run: contract.SoftwareRun{Packages: []contract.Software{p}}, DepotURL: "http://depot"}, Node{Roles: []string{contract.RoleWorker}, Changes: true,
				Seen: Seen{Manager: "apt", Architecture: "amd64", Packages: map[string]SeenPackage{name: seen}}}) {
				a := d.Action
				if a == nil {
					continue
				}
				if strings.ContainsAny(a.Name+a.Version, " \t\n;|&$`'\"\\/(){}<>*?!=%") || strings.HasPrefix(a.Name, "-") || strings.HasPrefix(a.Version, "-") || a.Name == "" {
					t.Errorf("action %+v", a)
				}
				if a.File != nil && !strings.HasPrefix(a.File.URL, "http://depot/") {
					t.Errorf("URL %q", a.File.URL)
				}
			}
		}
	})
}
