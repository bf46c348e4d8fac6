package main

import (
	"strings"
	"testing"
)

// stream is output of govulncheck with two vulnerabilities. This project imports a package with the
// first one. It only requires the module with the second one, and imports none of its packages.
const stream = `{"config": {"db": "file:///db", "db_last_modified": "2026-08-21T20:38:00Z"}}
{"osv": {"id": "GO-1", "summary": "Something is wrong"}}
{"osv": {"id": "GO-2", "summary": "Something else is"}}
{"finding": {"osv": "GO-1", "fixed_version": "v1.0.1", "trace": [{"module": "example.org/m", "version": "v1.0.0"}]}}
{"finding": {"osv": "GO-1", "fixed_version": "v1.0.1", "trace": [{"module": "example.org/m", "version": "v1.0.0", "package": "example.org/m/p"}]}}
{"finding": {"osv": "GO-2", "trace": [{"module": "example.org/m", "version": "v1.0.0"}]}}
`

func TestReport(t *testing.T) {
	for name, c := range map[string]struct{ accepted, want string }{
		"not accepted":       {"# none\n", "GO-1: update the module"},
		"accepted":           {"GO-1 bootstrap 2026-11-22 Nothing of ours reaches it.\n", ""},
		"accepted elsewhere": {"GO-1 . 2026-11-22 Nothing of ours reaches it.\n", "GO-1: update the module"},
		"accepted and gone":  {"GO-1 bootstrap 2026-11-22 Nothing reaches it.\nGO-2 bootstrap 2026-11-22 No fix.\n", "GO-2: accepted but no longer found"},
	} {
		accepted, err := parseAccepted(c.accepted, "bootstrap")
		if err != nil {
			t.Fatal(err)
		}
		found, err := read(strings.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := report(found, accepted)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if want := "GO-1 example.org/m v1.0.0: Something is wrong; imported package: example.org/m/p; fixed in v1.0.1"; lines[0] != want {
			t.Errorf("%s: got %q, want %q", name, lines[0], want)
		}
	}
}

func TestReadReportsThatGovulncheckFailed(t *testing.T) {
	for name, text := range map[string]string{"nothing": "", "no JSON": "govulncheck: no such file", "cut off": stream[:len(stream)-10]} {
		if found, err := read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: found %v, want an error", name, found)
		}
	}
}

func TestAcceptedHasADateAndAReason(t *testing.T) {
	for _, text := range []string{"GO-1\n", "GO-1 . 2026-11-22\n", "GO-1 2026-11-22 It is fine.\n", "GO-1 . yesterday It is fine.\n"} {
		if accepted, err := parseAccepted(text, "bootstrap"); err == nil {
			t.Errorf("%q is accepted as %v", text, accepted)
		}
	}
}
