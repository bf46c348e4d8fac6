package task

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// writeRequest writes a request of this build's version of the contract.
func writeRequest(t *testing.T, text string) string {
	t.Helper()
	dir := writeFile(t, contract.KeyRequest, text)
	writeVersion(t, dir, strconv.Itoa(contract.Version))
	return dir
}

func writeVersion(t *testing.T, dir, version string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, contract.KeyVersion), []byte(version), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRequest(t *testing.T) {
	dir := writeRequest(t, `{"provisioning":"edge-1","namespace":"site","release":"v2.31.0","slots":[{"name":"m-1","cpu":8}]}`)
	got, err := ReadRequest(dir, "site", "edge-1")
	want := contract.Request{Spec: contract.Spec{Provisioning: "edge-1", Namespace: "site", Release: "v2.31.0", Slots: []contract.Slot{{Name: "m-1", Needs: contract.Needs{CPU: 8}}}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, request (-want +got):\n%s", err, diff)
	}
}

// TestNodes: a run that claims hosts reads what select-hosts has stored for it. Any other run has its nodes in the request,
// and needs no file.
func TestNodes(t *testing.T) {
	claims := contract.Request{Order: contract.Order{Operation: contract.OperationInstall}}
	got, err := ReadNodes(writeFile(t, contract.KeyNodes, `[{"name":"m-1","host":"host-1","address":"10.0.0.1"},{"name":"w-2","host":"host-2","set":"w","standby":true}]`), claims)
	if diff := cmp.Diff([]contract.Node{{Name: "m-1", Host: "host-1", Address: "10.0.0.1"}}, got); err != nil || diff != "" {
		t.Errorf("%v, nodes (-want +got):\n%s", err, diff)
	}
	if _, err := ReadNodes(t.TempDir(), claims); FailureOf(err).Reason != contract.ReasonInvalidRequest {
		t.Errorf("without %s: %v, want an invalid request", contract.KeyNodes, err)
	}
	resets := contract.Request{Order: contract.Order{Operation: contract.OperationReset, Nodes: []contract.Node{{Name: "m-1", Host: "host-1"}}}}
	got, err = ReadNodes(t.TempDir(), resets)
	if diff := cmp.Diff(resets.Nodes, got); err != nil || diff != "" {
		t.Errorf("%v, nodes of a reset (-want +got):\n%s", err, diff)
	}
}

// TestRequestOfAnotherBuild: during an upgrade of BPA, a task can get a request from a controller of another build. It
// ignores fields that it does not know, and rejects a request of another version.
func TestRequestOfAnotherBuild(t *testing.T) {
	dir := writeRequest(t, `{"provisioning":"edge-1","namespace":"site","added":{"later":1}}`)
	if got, err := ReadRequest(dir, "site", "edge-1"); err != nil || got.Provisioning != "edge-1" {
		t.Errorf("a request with another field: %+v, %v", got, err)
	}
	for version, says := range map[int]string{contract.Version - 1: "BPA was upgraded", contract.Version + 1: "apply config/"} {
		writeVersion(t, dir, strconv.Itoa(version))
		_, err := ReadRequest(dir, "site", "edge-1")
		if failure := FailureOf(err); failure.Reason != contract.ReasonVersionSkew || !failure.Reason.Transient() || !strings.Contains(failure.Message, says) {
			t.Errorf("version %d: %+v, want a transient failure with %q", version, failure, says)
		}
	}
}

func TestRequestRefuses(t *testing.T) {
	for name, dir := range map[string]string{
		"no such file": t.TempDir(),
		"it is for":    writeRequest(t, `{"provisioning":"edge-2","namespace":"site"}`),
		"unexpected":   writeRequest(t, `{"provisioning":`),
		"longer than":  writeRequest(t, strings.Repeat(" ", longest+1)),
	} {
		_, err := ReadRequest(dir, "site", "edge-1")
		if err == nil || !strings.Contains(err.Error(), name) || FailureOf(err).Reason != contract.ReasonInvalidRequest {
			t.Errorf("Request: %v; want an invalid request with %q", err, name)
		}
	}
}

// TestReadMembers: a task that enters the cluster sees no node that has left it, and none that this run removes.
func TestReadMembers(t *testing.T) {
	dir := writeFile(t, contract.KeyNodes, `[{"name":"m-1","hostUID":"u1","address":"10.0.0.1"},{"name":"m-2","hostUID":"u2","address":"10.0.0.22"},{"name":"m-3","hostUID":"u3","address":"10.0.0.3"}]`)
	request := contract.Request{Order: contract.Order{Operation: contract.OperationCollect}, Record: contract.Record{Members: []contract.Node{
		{Name: "m-2", HostUID: "u2", Address: "10.0.0.2"}, {Name: "m-3", HostUID: "u3", Address: "10.0.0.3"}}}}
	for name, tc := range map[string]struct {
		change func(*contract.Request)
		want   string
	}{
		"it collects a kubeconfig": {func(*contract.Request) {}, "m-2 10.0.0.2, m-3 10.0.0.3"},
		"it removes a node": {func(r *contract.Request) {
			r.Operation, r.Remove = contract.OperationRemoveControlPlane, &contract.Removal{Nodes: []string{"m-3"}}
		}, "m-2 10.0.0.2"},
		"it claims hosts": {func(r *contract.Request) { r.Operation = contract.OperationAddNodes }, "m-1 10.0.0.1, m-2 10.0.0.22, m-3 10.0.0.3"},
	} {
		request := request
		tc.change(&request)
		nodes, err := ReadMembers(dir, request)
		var got []string
		for _, n := range nodes {
			got = append(got, n.Name+" "+n.Address)
		}
		if text := strings.Join(got, ", "); err != nil || text != tc.want {
			t.Errorf("%s: %s, %v; want %s", name, text, err, tc.want)
		}
	}
}
