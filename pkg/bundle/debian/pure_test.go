package debian

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
)

func TestReadSystem(t *testing.T) {
	for text, want := range map[string]string{
		"NAME=\"Ubuntu\"\nID=ubuntu\nVERSION_ID=\"24.04\"\n": "ubuntu-24.04",
		"ID=opensuse-leap\nVERSION_ID='15.6'\n":              "opensuse-leap-15.6",
		"ID=debian\n":                                        "", // the unstable branch of Debian has no version
		"":                                                   "",
	} {
		if got := readSystem(strings.NewReader(text)); got != want {
			t.Errorf("of %q: %q, want %q", text, got, want)
		}
	}
}

func TestArchitecture(t *testing.T) {
	for platform, want := range map[string]string{
		"linux/amd64": "amd64", "linux/arm64/v8": "arm64", "linux/arm/v7": "armhf", "linux/ppc64le": "ppc64el", "linux/386": "i386",
		"linux/arm/v6": "", "windows/amd64": "", "linux/mips": "",
	} {
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Architecture(*p); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", platform, got, err, want)
		}
	}
}

func TestPathOf(t *testing.T) {
	for file, want := range map[string]string{
		"socat_1.7.4.4-2_amd64.deb":               "apt/debian-12/socat_1.7.4.4-2_amd64.deb",
		"conntrack_1%3a1.4.7-1+b2_amd64.deb":      "apt/debian-12/conntrack_1.4.7-1+b2_amd64.deb",
		"libssl3_3.0.22-1~deb12u2_amd64.deb":      "apt/debian-12/libssl3_3.0.22-1~deb12u2_amd64.deb",
		"docker-ce_5%3a28.0.1-1~debian_arm64.deb": "apt/debian-12/docker-ce_28.0.1-1~debian_arm64.deb",
	} {
		if got, err := PathOf("debian-12", file); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", file, got, err, want)
		}
	}
	if got, err := PathOf("debian-12", "a b_1_all.deb"); err == nil {
		t.Errorf("a name with a space is accepted: %q", got)
	}
}

func TestSourcesList(t *testing.T) {
	dir := t.TempDir()
	binary, text := filepath.Join(dir, "a key.gpg"), filepath.Join(dir, "a key")
	for name, content := range map[string]string{binary: "\x99", text: "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ line, keyring, want string }{
		{"deb http://a/debian bookworm main", binary, "deb [signed-by=DIR/keyring.gpg] http://a/debian bookworm main\n"},
		{"deb  http://a/debian   ./", text, "deb [signed-by=DIR/keyring.asc] http://a/debian ./\n"},
		{"deb [arch=arm64 lang=none] http://a/debian bookworm main", binary, "deb [arch=arm64 lang=none signed-by=DIR/keyring.gpg] http://a/debian bookworm main\n"},
		{"deb [ arch=arm64 ] http://a/debian bookworm main", binary, "deb [arch=arm64 signed-by=DIR/keyring.gpg] http://a/debian bookworm main\n"},
		{"deb [signed-by=/k] http://a/debian bookworm main", "/none", "deb [signed-by=/k] http://a/debian bookworm main\n"},
		{"deb [trusted=yes] http://a/files/apt/debian-12 ./", "", "deb [trusted=yes] http://a/files/apt/debian-12 ./\n"},
	} {
		got, err := sourcesList(Request{System: "neverland-1", Sources: []string{tc.line}, Keyring: tc.keyring}, dir)
		if want := strings.ReplaceAll(tc.want, "DIR", dir); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", tc.line, got, err, want)
		}
	}
	for line, says := range map[string]string{
		"":                               "is not like",
		"deb-src http://a/debian a main": "is not like",
		"deb http://a/debian":            "is not like",
		"deb [arch=amd64 http://a b c":   "is not like",
		"deb nowhere bookworm main":      "is not like",
		"deb http://a/ ./\ndeb [trusted=yes] http://b/ ./": "is not like",
		"deb http://a/debian bookworm main":                "--keyring is missing: the file with the keys that sign the packages of neverland-1",
	} {
		if _, err := sourcesList(Request{System: "neverland-1", Sources: []string{line}}, dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", line, err, says)
		}
	}
}

const index = `Package: libc6
Architecture: amd64
Version: 2.36-9+deb12u14
Multi-Arch: same
Provides: libc, libc-2 (= 2.36)
Description: GNU C Library
 Package: not-this
Depends: libgcc-s1

Package: mawk
Priority: required
Architecture: amd64
Version: 1.3.4-1

Package: libc6
Architecture: amd64
Version: 2.36-9+deb12u4
`

func TestBaseline(t *testing.T) {
	base := baseline{}
	var essential []string
	err := eachPackage(strings.NewReader(index), func(fields map[string]string) error {
		if isEssential(fields) {
			essential = append(essential, fields["Package"])
		}
		return base.add(fields)
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"mawk"}, essential); diff != "" {
		t.Errorf("essential (-want +got):\n%s", diff)
	}
	want := `Package: libc6
Status: install ok installed
Maintainer: none
Architecture: amd64
Version: 2.36-9+deb12u4~
Description: on the nodes already

Package: mawk
Status: install ok installed
Maintainer: none
Architecture: amd64
Version: 1.3.4-1~
Description: on the nodes already

`
	if diff := cmp.Diff(want, base.status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if err := base.add(map[string]string{"Package": "odd", "Version": "not a version"}); err == nil {
		t.Error("a version that is none is taken")
	}
}

func TestReadPlans(t *testing.T) {
	simulation := "NOTE: This is only a simulation!\nInst gcc-12-base (12.2.0-14 Debian:12 [amd64])\nInst libc6:arm64 (2.36 Debian:12 [arm64]) []\nConf libc6 (2.36)\n"
	if diff := cmp.Diff([]string{"gcc-12-base", "libc6"}, plannedNames(simulation)); diff != "" {
		t.Errorf("plannedNames (-want +got):\n%s", diff)
	}
	uris := "'http://a/pool/x%3ay.deb' conntrack_1%3a1.4.7_amd64.deb 35240 MD5Sum:00\n'http://a/../b.deb' ../b.deb 5 MD5Sum:00\n'http://a/c.deb' c_1_all.deb 10 SHA256:00\n"
	files, bytes := downloads(uris)
	if diff := cmp.Diff([]string{"conntrack_1%3a1.4.7_amd64.deb", "c_1_all.deb"}, files); diff != "" || bytes != 35250 {
		t.Errorf("downloads: %d bytes (-want +got):\n%s", bytes, diff)
	}
}

func TestExplain(t *testing.T) {
	a := &apt{request: Request{System: "debian-12", Architecture: "amd64"}}
	failed := errors.New("exit status 100")
	for _, tc := range []struct{ out, errOut, want string }{
		{"", "", "apt-get update for debian-12 amd64: exit status 100"},
		{"", "W: old\nE: Unable to locate package a\nE: and more\n", "apt-get update for debian-12 amd64: Unable to locate package a; and more; add a source that has the package with --apt-source"},
		{"", "W: GPG error: NO_PUBKEY 1234\n", "apt-get update for debian-12 amd64: GPG error: NO_PUBKEY 1234; the sources are signed by other keys: name the file that has them with --keyring"},
		{"The following packages have unmet dependencies:\n a : Depends: b\n     Depends: c (>= 1)\nfoo", "E: Unable to correct problems, you have held broken packages.\n",
			"apt-get update for debian-12 amd64: Unable to correct problems, you have held broken packages.: a : Depends: b; Depends: c (>= 1); the sources lack these packages: " +
				"add a source that has them with --apt-source, or name packages that do not conflict"},
		{"", strings.Repeat("E: x\n", 10), "apt-get update for debian-12 amd64: " + strings.Repeat("x; ", 8) + "and 2 more"},
	} {
		if diff := cmp.Diff(tc.want, a.explain(context.Background(), "update", tc.out, tc.errOut, failed).Error()); diff != "" {
			t.Errorf("of %q (-want +got):\n%s", tc.errOut, diff)
		}
	}
}

func TestProgress(t *testing.T) {
	var log bytes.Buffer
	begin := time.Unix(0, 0)
	now := begin
	p := &progress{log: &log, now: func() time.Time { return now }, begin: begin, reported: begin, total: 10 << 20}
	for _, at := range []struct {
		second int
		line   string
	}{
		{1, "dlstatus:1:0.0000:Retrieving file 1 of 14"}, {6, "dlstatus:3:25.5:Retrieving file 3 of 14 (2min)"}, {7, "dlstatus:4:50:soon"},
		{70, "pmstatus:a:90:not this"}, {70, "dlstatus:9:900:nor this"}, {70, "dlstatus:9:x:nor this"}, {71, "dlstatus:9:90:Retrieving"},
	} {
		now = begin.Add(time.Duration(at.second) * time.Second)
		p.follow(strings.NewReader(at.line + "\n"))
	}
	if diff := cmp.Diff("[ 26%] 00:06  2.5 MiB of 10.0 MiB\n[ 90%] 01:11  9.0 MiB of 10.0 MiB\n", log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// held is an index like that of a depot, with invented checksums.
var held = strings.ReplaceAll(`Package: conntrack
Version: 1:1.4.7
Architecture: amd64
Depends: libc6 (>= 2.14), libnfnetlink0:any | libnf-other
Pre-Depends: base
Filename: ./conntrack_1.4.7_amd64.deb
SHA256: SUM

Package: libnfnetlink0
Version: 1
Architecture: amd64
Filename: pool/libnfnetlink0_1_amd64.deb
SHA256: SUM

Package: libnfnetlink0
Version: 2
Architecture: arm64
Filename: pool/libnfnetlink0_2_arm64.deb
SHA256: SUM

Package: other
Version: 1
Architecture: all
Provides: libnf-other (= 2)
Depends: libnfnetlink0
Filename: other.deb
SHA256: SUM

Package: alone
Version: 1
Architecture: all
Filename: ../../alone.deb
SHA256: SUM
`, "SUM", strings.Repeat("a", 64))

func TestSelect(t *testing.T) {
	for _, tc := range []struct {
		name          string
		wanted        []artifacts.Package
		architectures []string
		want          []string
	}{
		{"with the dependencies that the depot has", []artifacts.Package{{Name: "conntrack", Version: "1:1.4.7"}}, nil,
			[]string{"conntrack_1.4.7_amd64.deb", "pool/libnfnetlink0_1_amd64.deb"}},
		{"for each architecture that the depot has", []artifacts.Package{{Name: "other"}}, nil,
			[]string{"other.deb", "pool/libnfnetlink0_1_amd64.deb", "pool/libnfnetlink0_2_arm64.deb"}},
		{"for one", []artifacts.Package{{Name: "other"}}, []string{"arm64"}, []string{"other.deb", "pool/libnfnetlink0_2_arm64.deb"}},
		{"for one kind of node", []artifacts.Package{{Name: "other", Architecture: "amd64"}}, nil, []string{"other.deb", "pool/libnfnetlink0_1_amd64.deb"}},
		{"of one version", []artifacts.Package{{Name: "libnfnetlink0", Version: "2"}}, nil, []string{"pool/libnfnetlink0_2_arm64.deb"}},
		{"a name that it provides", []artifacts.Package{{Name: "libnf-other"}}, []string{"amd64"}, []string{"other.deb", "pool/libnfnetlink0_1_amd64.deb"}},
		{"all, and no path leaves the folder", nil, nil,
			[]string{"alone.deb", "conntrack_1.4.7_amd64.deb", "other.deb", "pool/libnfnetlink0_1_amd64.deb", "pool/libnfnetlink0_2_arm64.deb"}},
		{"all for one architecture", nil, []string{"arm64"}, []string{"alone.deb", "other.deb", "pool/libnfnetlink0_2_arm64.deb"}},
	} {
		files, err := Select(strings.NewReader(held), "debian-12", tc.wanted, tc.architectures)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var got []string
		for _, f := range files {
			got = append(got, strings.TrimPrefix(f.Path, "apt/debian-12/"))
		}
		slices.Sort(got)
		got = slices.Compact(got)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	for says, index := range map[string]string{
		"no package none, conntrack=7 for debian-12": held,
		"rename it in the depot":                     "Package: a\nFilename: a b.deb\n",
	} {
		_, err := Select(strings.NewReader(index), "debian-12", []artifacts.Package{{Name: "none"}, {Name: "conntrack", Version: "7"}}, nil)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// apt-get writes to a pipe and would block if nobody read its output.
func TestProgressReadsToTheEnd(t *testing.T) {
	status := strings.NewReader(strings.Repeat("x", 200<<10) + "\ndlstatus:1:2.5:more\n")
	(*progress)(nil).follow(status)
	if status.Len() > 0 {
		t.Errorf("%d bytes are left: apt-get waits forever", status.Len())
	}
}
