package inventory

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func ownVar(name, value string) func(*contract.Request) {
	return func(r *contract.Request) {
		r.Slots = []contract.Slot{{Name: "m-1", Vars: map[string]json.RawMessage{name: json.RawMessage(value)}}}
	}
}

// A log has the names of the nodes' variables, and no values.
func TestRedacted(t *testing.T) {
	got, err := Render(request(ownVar("password", `"it's = secret 'x'"`)), []contract.Node{both("m-1", "10.60.0.1")})
	if err != nil {
		t.Fatal(err)
	}
	text := got.Redacted()
	if !strings.Contains(text, " etcd_member_name=etcd1 password=...\n") || strings.Contains(text, "secret") || strings.Count(text, "\n") != strings.Count(string(got.HostsINI), "\n") {
		t.Errorf("redacted:\n%s\nof:\n%s", text, got.HostsINI)
	}
}

// FuzzAssignment: whatever the value, hosts.ini gets one word of a shell, in ASCII and without a comment.
func FuzzAssignment(f *testing.F) {
	for _, seed := range []string{`"a\nb"`, `"it's"`, `{"#":"\\'"}`, `[1,"ü🚀",null]`, `"\u2028;"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, err := assignment("name", json.RawMessage(value))
		if err != nil {
			return
		}
		inner, whole := strings.CutPrefix(got, "name='")
		inner, end := strings.CutSuffix(inner, "'")
		special := strings.ContainsFunc(inner, func(r rune) bool { return r < ' ' || r > '~' || r == '\'' || r == '#' || r == ';' })
		if !whole || !end || special {
			t.Errorf("%q gives %q", value, got)
		}
	})
}
