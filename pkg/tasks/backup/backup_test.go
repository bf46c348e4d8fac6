package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// stored returns the backup as the depot sends it.
func (w *fixture) stored() []byte {
	w.t.Helper()
	to, err := client.Connect(w.t.Context(), w.depot.URL, client.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	body, _, err := to.GetFile(w.t.Context(), backup.Place("site", "edge-1", w.in.Artifact).FilePath())
	if err != nil {
		w.t.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// opened decrypts the backup, and returns it with its snapshot.
func (w *fixture) opened() (*backup.Open, []byte) {
	w.t.Helper()
	o, err := backup.Read(bytes.NewReader(w.stored()), w.identity)
	if err != nil {
		w.t.Fatal(err)
	}
	var snapshot bytes.Buffer
	if err := o.WriteSnapshot(&snapshot); err != nil {
		w.t.Fatal(err)
	}
	return o, snapshot.Bytes()
}

func withSum(content []byte) []byte {
	sum := sha256.Sum256(content)
	return append(bytes.Clone(content), sum[:]...)
}

func TestRun(t *testing.T) {
	w := newFixture(t)
	out, err := w.run()
	if err != nil {
		t.Fatal(err)
	}
	sealed := w.stored()
	if diff := cmp.Diff(Output{SHA256: depottest.Sum(sealed), Size: int64(len(sealed)), Revision: 42, Member: "m-1", Version: "1.35.4"}, out); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	o, snapshot := w.opened()
	if !bytes.Equal(snapshot, withSum(w.members[firstAddress].content)) {
		t.Error("the snapshot is not that of the first member")
	}
	want := []string{"cluster/all.json", "cluster/hosts.ini", "cluster/installed.json", "etcd-pki/ca-key.pem", "etcd-pki/ca.pem", "pki/ca.crt", "pki/ca.key",
		"pki/front-proxy-ca.crt", "pki/front-proxy-ca.key", "pki/sa.key", "pki/sa.pub", "pki/secrets_encryption.yaml"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(o.Files))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got := string(o.Files["pki/sa.key"]); got != secret+" sa.key" || o.Manifest.PKIFolder != "/etc/kubernetes/ssl" || o.Manifest.EtcdPKIFolder != etcdOnHost {
		t.Errorf("sa.key is %q, manifest %+v", got, o.Manifest)
	}
	w.hidesSecrets(out, sealed)
	if diff := cmp.Diff([]string{"127.0.0.1:2379"}, w.dialled); diff != "" {
		t.Errorf("connections on the node (-want +got):\n%s", diff)
	}
}

// hidesSecrets checks that secrets are in no log, no result and no file of the depot.
func (w *fixture) hidesSecrets(out Output, sealed []byte) {
	w.t.Helper()
	texts := []string{w.log.String(), string(sealed)}
	for _, result := range out.Results() {
		texts = append(texts, result)
	}
	err := filepath.WalkDir(w.depot.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(w.depot.Dir, "apt-key.asc") { // the depot's own key, which it never serves
			return err
		}
		text, err := os.ReadFile(path)
		texts = append(texts, string(text))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, text := range texts {
		if strings.Contains(text, secret) || strings.Contains(text, "PRIVATE KEY") {
			w.t.Errorf("a secret is readable in:\n%.300s", text)
		}
	}
}

// In a cluster that kubeadm has made, etcd runs in a pod and its keys are beside those of Kubernetes.
func TestEtcdInPods(t *testing.T) {
	w := newFixture(t)
	w.stacked()
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	o, _ := w.opened()
	if o.Manifest.EtcdPKIFolder != "" || o.Manifest.PKIFolder != "/etc/kubernetes/pki" || string(o.Files["pki/etcd/ca.key"]) != secret {
		t.Errorf("manifest %+v, files %q", o.Manifest, slices.Collect(maps.Keys(o.Files)))
	}
}

// A control plane whose etcd is not healthy, or without all keys, is passed over.
func TestNextControlPlane(t *testing.T) {
	for name, spoil := range map[string]func(*fixture, *member){
		"does not answer":    func(_ *fixture, m *member) { m.down = true },
		"knows no leader":    func(_ *fixture, m *member) { m.leader = 0 },
		"is a learner":       func(_ *fixture, m *member) { m.learner = true },
		"CORRUPT":            func(_ *fixture, m *member) { m.corrupt = true },
		"no healthy major":   func(_ *fixture, m *member) { m.noMajority = true },
		"do not belong":      func(w *fixture, _ *member) { w.files[etcdOnHost+"/admin-m-1-key.pem"] = secret },
		"admin-m-1-key.pem:": func(w *fixture, _ *member) { delete(w.files, etcdOnHost+"/admin-m-1-key.pem") },
	} {
		w := newFixture(t)
		spoil(w, w.members[firstAddress])
		out, err := w.run()
		if err != nil || out.Member != "m-2" || !strings.Contains(w.log.String(), name) {
			t.Errorf("%s: backed up %q, %v; log:\n%s", name, out.Member, err, w.log.String())
		}
	}
}

// An SSH server may forbid forwarding. The task then connects directly.
func TestWithoutForwarding(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := dialEither(t.Context(), noForwarding{}, "127.0.0.1:2379", listener.Addr().String())
	if err != nil || conn.RemoteAddr().String() != listener.Addr().String() {
		t.Fatalf("connected to %v, %v", conn, err)
	}
	conn.Close()
	if _, err := dialEither(t.Context(), noForwarding{}, "127.0.0.1:2379", "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "prohibited") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("neither way works: %v, want both causes", err)
	}
}

type noForwarding struct{}

func (noForwarding) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("administratively prohibited")
}

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		name   string
		spoil  func(*fixture)
		reason contract.Reason
		says   string
	}{
		{"no depot", func(w *fixture) { w.in.Depot = "" }, contract.ReasonInvalidRequest, "depot-url"},
		{"the depot is down", func(w *fixture) { w.in.Depot = "http://127.0.0.1:1" }, contract.ReasonDepotUnavailable, "does not answer"},
		{"no record", func(w *fixture) { w.stores[contract.KeyInstalled] = "" }, contract.ReasonInvalidRequest, "record of the cluster"},
		{"hosts never seen", func(w *fixture) { w.stores[contract.KeyKnownHosts] = "" }, contract.ReasonInvalidRequest, "no SSH host key is pinned"},
		{"a bad name", func(w *fixture) { w.in.Artifact = "../x" }, contract.ReasonInvalidRequest, "image_name"},
		{"a bad recipient", func(w *fixture) { w.in.Recipient = "age1x" }, contract.ReasonBackupFailed, "key for the backup"},
		{"no key of the CA", func(w *fixture) { delete(w.files, "/etc/kubernetes/ssl/ca.key") }, contract.ReasonBackupFailed, "ca.key"},
		{"no keys", func(w *fixture) { w.files = map[string]string{} }, contract.ReasonBackupFailed, "neither"},
		{"no etcd answers", func(w *fixture) { w.members[firstAddress].down, w.members[secondAddress].down = true, true }, contract.ReasonClusterUnhealthy, "does not answer"},
		{"etcd is killed", func(w *fixture) { w.members[firstAddress].cutAfter = 100_000 }, contract.ReasonClusterUnhealthy, "etcd was killed"},
		{"a damaged snapshot", func(w *fixture) { w.members[firstAddress].damaged = true }, contract.ReasonClusterUnhealthy, "is damaged"},
		{"a node with a bad name", func(w *fixture) {
			w.stores[contract.KeyInstalled] = strings.ReplaceAll(w.stores[contract.KeyInstalled], `"m-`, `"$(id)-`)
		}, contract.ReasonInvalidRequest, "is not the name of a node"},
		{"hosts down", func(w *fixture) { w.in.Request.SSHPort = 1 }, contract.ReasonHostUnreachable, "connection refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t)
			tc.spoil(w)
			out, err := w.run()
			if err == nil {
				t.Fatalf("the task succeeded: %+v", out)
			}
			if f := task.FailureOf(err); f.Reason != tc.reason || !strings.Contains(f.Message, tc.says) || strings.Contains(f.Message, secret) {
				t.Errorf("failure %+v, want %s with %q", f, tc.reason, tc.says)
			}
			w.storesNothing()
		})
	}
}

// storesNothing checks that the depot has no part of a backup that has failed.
func (w *fixture) storesNothing() {
	w.t.Helper()
	to, err := client.Connect(w.t.Context(), w.depot.URL, client.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	all, damaged, err := to.Everything(w.t.Context())
	if err != nil || len(all.Files)+len(damaged) > 0 {
		w.t.Errorf("the depot has %v, damaged %v (%v)", all.Files, damaged, err)
	}
}

// The depot never replaces a backup.
func TestNameIsTaken(t *testing.T) {
	w := newFixture(t)
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	before := w.stored()
	_, err := w.run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonDepotUnavailable {
		t.Errorf("a second backup of the same name: %+v", f)
	}
	if !bytes.Equal(before, w.stored()) {
		t.Error("the second backup has replaced the first one")
	}
}

// The results fit into Tekton's limit, and an unknown version is "none".
func TestResults(t *testing.T) {
	got := Output{SHA256: strings.Repeat("a", 64), Size: 1 << 40, Revision: 7, Member: "m-1"}.Results()
	want := map[string]string{"sha256": strings.Repeat("a", 64), "size": "1099511627776", "revision": "7", "member": "m-1", "version": contract.None}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
