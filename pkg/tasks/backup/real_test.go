//go:build e2e

package backup

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestRealEtcd backs up a real etcd. From the backup, etcd's own tool makes the data of a member with
// another name, and etcd starts with it and has the key.
func TestRealEtcd(t *testing.T) {
	w := newFixture(t)
	m := w.members[firstAddress]
	stop := w.serve(m, "first", filepath.Join(t.TempDir(), "data"))
	value := bytes.Repeat([]byte("x"), 1<<20)
	if _, err := pb.NewKVClient(w.dial(m).ClientConn).Put(t.Context(), &pb.PutRequest{Key: []byte("/registry/secrets/a"), Value: value}); err != nil {
		t.Fatal(err)
	}
	out, err := w.run()
	if err != nil || out.Member != "m-1" || out.Revision < 2 {
		t.Fatalf("%+v, %v\n%s", out, err, w.log.String())
	}
	stop()

	o, err := backup.Read(bytes.NewReader(w.stored()), w.identity)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := os.Create(filepath.Join(t.TempDir(), "snapshot.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	if err := o.WriteSnapshot(snapshot); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "restored")
	etcdutl := filepath.Join(os.Getenv("BPA_STATE"), "cache", "lab", "etcd", "etcdutl")
	text, err := exec.Command(etcdutl, "snapshot", "restore", snapshot.Name(), "--data-dir", data, "--name=second",
		"--initial-cluster=second=http://127.0.0.1:1", "--initial-advertise-peer-urls=http://127.0.0.1:1").CombinedOutput()
	if err != nil {
		t.Fatalf("etcdutl snapshot restore: %v\n%s", err, text)
	}
	defer w.serve(m, "second", data)()
	got, err := pb.NewKVClient(w.dial(m).ClientConn).Range(t.Context(), &pb.RangeRequest{Key: []byte("/registry/secrets/a")})
	if err != nil || len(got.Kvs) != 1 || !bytes.Equal(got.Kvs[0].Value, value) {
		t.Errorf("the restored etcd has %d keys, %v", got.GetCount(), err)
	}
}

// serve runs a real etcd as this member until stop is called, and waits until it answers.
func (w *fixture) serve(m *member, name, data string) (stop func()) {
	w.t.Helper()
	var free [2]string
	for i := range free {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			w.t.Fatal(err)
		}
		free[i] = listener.Addr().String()
		listener.Close()
	}
	dir := w.t.TempDir()
	certificate, key := w.issue(w.ca, w.caKey)
	for file, content := range map[string]string{"ca": inPEM(w.ca), "cert": inPEM(certificate), "key": keyInPEM(w.t, key)} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	m.address = free[0]
	etcd := exec.Command(filepath.Join(os.Getenv("BPA_STATE"), "bin", "etcd"), "--name="+name, "--data-dir="+data,
		"--listen-client-urls=https://"+free[0], "--advertise-client-urls=https://"+free[0], "--listen-peer-urls=http://"+free[1],
		"--initial-advertise-peer-urls=http://"+free[1], "--initial-cluster="+name+"=http://"+free[1],
		"--cert-file="+dir+"/cert", "--key-file="+dir+"/key", "--trusted-ca-file="+dir+"/ca", "--client-cert-auth")
	var log bytes.Buffer
	etcd.Stderr = &log
	if err := etcd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	if _, err := pb.NewKVClient(w.dial(m).ClientConn).Range(ctx, &pb.RangeRequest{Key: []byte("x")}, grpc.WaitForReady(true)); err != nil {
		w.t.Fatalf("etcd does not answer: %v\n%s", err, log.String())
	}
	return func() {
		_ = etcd.Process.Signal(syscall.SIGTERM)
		_ = etcd.Wait()
	}
}

// dial returns a client of a member, as the task makes it.
func (w *fixture) dial(m *member) *etcd {
	w.t.Helper()
	pair := keyPair{[]byte(w.files[etcdOnHost+"/ca.pem"]), []byte(w.files[etcdOnHost+"/admin-m-1.pem"]), []byte(w.files[etcdOnHost+"/admin-m-1-key.pem"])}
	e, err := dialEtcd(w.in, forwarding{w: w, address: firstAddress}, contract.Node{Name: "m-1", Address: firstAddress}, pair)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = e.Close() })
	return e
}
