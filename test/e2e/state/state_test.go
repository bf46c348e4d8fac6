package state

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	got := Lines("== units\na.service enabled \n\n== files\n  f 644 /etc/a\n== empty\n")
	if diff := cmp.Diff([]string{"units: a.service enabled", "files:   f 644 /etc/a"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDifferences(t *testing.T) {
	before, after := []string{"files: a", "files: b"}, []string{"files: a", "files: c"}
	for name, c := range map[string]struct {
		accepted Accepted
		differ   bool
	}{
		"nothing is accepted":          {nil, true},
		"one of two lines is accepted": {Accepted{"^files: b$": "reason"}, true},
		"both are accepted":            {Accepted{"^files: b$": "reason", "c$": "reason"}, false},
		"another line is accepted":     {Accepted{"^files: a|^files: d": "reason"}, true},
	} {
		if got := c.accepted.Differences(before, after); (got != "") != c.differ {
			t.Errorf("%s: differences %q", name, got)
		}
	}
}

func TestNormal(t *testing.T) {
	got := Normal([]string{"content: /b: token: abcdef.0123456789abcdef", "content: /a: 10.60.0.1,10.60.0.12:2379,10.60.0.123"},
		map[string]string{"10.60.0.1": "master-1", "10.60.0.12": "worker-1"}, []Rule{{`(token:) [a-z0-9]{6}\.[a-z0-9]{16}`, "$1 <token>"}})
	want := []string{"content: /a: <address of master-1>,<address of worker-1>:2379,10.60.0.123", "content: /b: token: <token>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestObjects(t *testing.T) {
	const list = `{"items": [
		{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s", "namespace": "n", "uid": "1", "resourceVersion": "2"}, "data": {"key": "c2VjcmV0"}},
		{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "dns-x7f", "generateName": "dns-", "namespace": "n",
		  "ownerReferences": [{"kind": "ReplicaSet", "name": "dns", "uid": "3"}]}, "spec": {"containers": [{"image": "dns:1", "args": []}]}, "status": {"phase": "Running"}},
		{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "master-1", "creationTimestamp": "2026-11-23T01:00:00Z"}, "spec": {"unschedulable": true}}
	]}`
	got, err := Objects([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`objects: Node /master-1 apiVersion="v1"`, `objects: Node /master-1 kind="Node"`,
		`objects: Node /master-1 metadata.name="master-1"`, `objects: Node /master-1 spec.unschedulable=true`,
		`objects: Pod n/dns-* apiVersion="v1"`, `objects: Pod n/dns-* kind="Pod"`,
		`objects: Pod n/dns-* metadata.generateName="dns-"`, `objects: Pod n/dns-* metadata.name="dns-*"`, `objects: Pod n/dns-* metadata.namespace="n"`,
		`objects: Pod n/dns-* metadata.ownerReferences[0].kind="ReplicaSet"`, `objects: Pod n/dns-* metadata.ownerReferences[0].name="dns"`,
		`objects: Pod n/dns-* spec.containers[0].args=[]`, `objects: Pod n/dns-* spec.containers[0].image="dns:1"`,
		`objects: Secret n/s apiVersion="v1"`, `objects: Secret n/s data.key="SECRET"`, `objects: Secret n/s kind="Secret"`,
		`objects: Secret n/s metadata.name="s"`, `objects: Secret n/s metadata.namespace="n"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, bad := range []string{"", `{"items": [{"kind": "Pod"}]}`} {
		if got, err := Objects([]byte(bad)); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

// The output must show whole lines, and each of several equal ones.
func TestDifferencesAreWholeLines(t *testing.T) {
	got := Accepted{"^c": "it is right"}.Differences([]string{"a", "b", "b", "c"}, []string{"a", "b", "d"})
	if want := "- b\n+ d"; got != want {
		t.Errorf("differences:\n%s\nwant:\n%s", got, want)
	}
	var many []string
	for i := range mostLines + 2 {
		many = append(many, fmt.Sprintf("line %03d", i))
	}
	if got := Accepted(nil).Differences(many, nil); strings.Count(got, "\n") != mostLines || !strings.HasSuffix(got, "\nand 2 lines more") {
		t.Errorf("differences:\n%s", got)
	}
}
