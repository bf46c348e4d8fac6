package backup

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// fixture is a cluster with two control planes, m-1 and m-2, a depot, and the input of the task. Both
// control planes have the same SSH server at two addresses, and members of etcd.
type fixture struct {
	t        *testing.T
	in       Input
	identity string
	depot    *depottest.Depot
	ssh      *sshtest.Server
	members  map[string]*member // by address of the node
	log      strings.Builder
	stores   map[string]string
	ca       *x509.Certificate // of etcd
	caKey    *ecdsa.PrivateKey

	mu      sync.Mutex
	files   map[string]string // on the nodes, by name
	dialled []string
}

const (
	firstAddress, secondAddress = "127.0.0.1", "127.0.0.2"
	secret                      = "PRIVATE-KEY-OF-THE-CLUSTER"
)

func newFixture(t *testing.T) *fixture {
	identity, recipient, err := backup.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	user, userFile := sshtest.NewKey(t)
	host, _ := sshtest.NewKey(t)
	w := &fixture{t: t, identity: identity, depot: depottest.Start(t), members: map[string]*member{}, files: map[string]string{}}
	listeners := sshtest.Listen(t, firstAddress, secondAddress)
	w.ssh = sshtest.StartOn(t, listeners[0], user.PublicKey(), w.command, host)
	sshtest.StartOn(t, listeners[1], user.PublicKey(), w.command, host)
	w.startEtcd()
	w.in = Input{
		Request: contract.Request{
			Spec: contract.Spec{
				Provisioning: "edge-1", Namespace: "site", UID: "uid-1", SSHUser: "root", SSHPort: w.ssh.Port,
			},
		},
		PrivateKey: userFile,
		Artifact:   backup.Artifact("nightly", "01234567-89"), Recipient: recipient, Depot: w.depot.URL, ConnectLimit: 5 * time.Second,
	}
	pins := ssh.Pins{{UID: "u1", Host: "h1", At: firstAddress + ":22", Key: host.PublicKey()}, {UID: "u2", Host: "h2", At: secondAddress + ":22", Key: host.PublicKey()}}
	planes := []string{contract.RoleControlPlane}
	installed, err := json.Marshal(contract.Installed{
		Request: contract.Spec{KubernetesVersion: "1.35.4", NetworkPlugin: "flannel", PodSubnet: "10.244.0.0/16", ServiceSubnet: "10.233.0.0/18",
			SSHUser: "root", SSHPort: 22, Vars: map[string]json.RawMessage{"password": json.RawMessage(`"` + secret + `"`)}},
		Nodes: []contract.Node{{Name: "m-1", HostUID: "u1", Address: firstAddress, Roles: planes}, {Name: "m-2", HostUID: "u2", Address: secondAddress, Roles: planes}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.stores = map[string]string{contract.KeyKnownHosts: pins.String(), contract.KeyInstalled: string(installed),
		contract.KeyClaimed: `[{"name":"m-1","hostUID":"u1","address":"10.0.0.1"},{"name":"m-2","hostUID":"u2","address":"10.0.0.2"}]`}
	return w
}

// Get implements the stores of Ports.
func (w *fixture) Get(_ context.Context, key string) (string, error) { return w.stores[key], nil }

// command is the shell of the nodes. It knows the commands of the task, and no others.
func (w *fixture) command(command string, stdout, stderr io.Writer) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	verb, file, _ := strings.Cut(command, " /")
	content, there := w.files["/"+file]
	switch {
	case verb == "test -s" && there && content != "":
		return 0
	case verb == "cat" && there:
		_, _ = io.WriteString(stdout, content)
		return 0
	case verb == "test -s" || verb == "cat":
		_, _ = io.WriteString(stderr, command+": No such file or directory")
		return 1
	}
	w.t.Errorf("the task runs %q", command)
	return 127
}

// forwarding is a connection whose tunnel to etcd leads to the member of the node.
type forwarding struct {
	node.Connection
	w       *fixture
	address string
}

func (f forwarding) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	f.w.mu.Lock()
	f.w.dialled = append(f.w.dialled, address)
	f.w.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, network, f.w.members[f.address].address)
}

func (w *fixture) run() (Output, error) {
	return Run(w.t.Context(), w.in, Ports{
		Dial: func(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (node.Connection, error) {
			conn, err := node.DialSSH(ctx, to, key, pinned)
			if err != nil {
				return nil, err
			}
			return forwarding{conn, w, to.Address}, nil
		},
		Depot: func(ctx context.Context, url string) (*client.Depot, error) {
			return client.Connect(ctx, url, client.Options{})
		},
		KnownHosts: w, Installed: w, Log: &w.log,
		Now: func() time.Time { return time.Date(2026, 11, 22, 2, 30, 0, 0, time.UTC) },
	})
}

// member is a member of etcd. The test changes its fields before it runs the task.
type member struct {
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedKVServer
	address                string
	content                []byte
	leader                 uint64
	learner, corrupt, down bool
	noMajority             bool
	cutAfter               int // bytes after which the snapshot breaks; 0: it does not break
	damaged                bool
}

func (m *member) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	if m.down {
		return nil, errors.New("etcd is starting")
	}
	return &pb.StatusResponse{Header: &pb.ResponseHeader{Revision: 41}, Leader: m.leader, IsLearner: m.learner}, nil
}

func (m *member) Alarm(_ context.Context, r *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	if m.corrupt && r.Alarm == pb.AlarmType_CORRUPT && r.Action == pb.AlarmRequest_GET {
		return &pb.AlarmResponse{Alarms: []*pb.AlarmMember{{MemberID: 1, Alarm: pb.AlarmType_CORRUPT}}}, nil
	}
	return &pb.AlarmResponse{}, nil
}

func (m *member) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	if m.noMajority {
		return nil, errors.New("etcdserver: request timed out")
	}
	return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 42}}, nil
}

// Snapshot sends the content in pieces, and then its SHA-256, as etcd does.
func (m *member) Snapshot(_ *pb.SnapshotRequest, to pb.Maintenance_SnapshotServer) error {
	const piece = 32 << 10
	for sent := 0; sent < len(m.content); {
		n := min(piece, len(m.content)-sent)
		if m.cutAfter > 0 && sent >= m.cutAfter {
			return errors.New("etcd was killed")
		}
		sent += n
		if err := to.Send(&pb.SnapshotResponse{RemainingBytes: uint64(len(m.content) - sent), Blob: m.content[sent-n : sent]}); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(m.content)
	if m.damaged {
		sum[0] ^= 1
	}
	return to.Send(&pb.SnapshotResponse{Blob: sum[:]})
}

// startEtcd starts both members, with a CA of their own, and writes the files of kubespray's nodes.
func (w *fixture) startEtcd() {
	w.ca, w.caKey = w.issue(nil, nil)
	ca, caKey := w.ca, w.caKey
	server, serverKey := w.issue(ca, caKey)
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	for i, address := range []string{firstAddress, secondAddress} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			w.t.Fatal(err)
		}
		content := make([]byte, 300_000+i)
		if _, err := rand.Read(content); err != nil {
			w.t.Fatal(err)
		}
		m := &member{address: listener.Addr().String(), content: content, leader: 7}
		s := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{server.Raw}, PrivateKey: serverKey}}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
		})))
		pb.RegisterMaintenanceServer(s, m)
		pb.RegisterKVServer(s, m)
		go func() { _ = s.Serve(listener) }()
		w.t.Cleanup(s.Stop)
		w.members[address] = m
	}
	certificate, key := w.issue(ca, caKey)
	for _, name := range []string{"m-1", "m-2"} {
		w.files[etcdOnHost+"/admin-"+name+".pem"], w.files[etcdOnHost+"/admin-"+name+"-key.pem"] = inPEM(certificate), keyInPEM(w.t, key)
	}
	w.files[etcdOnHost+"/ca.pem"], w.files[etcdOnHost+"/ca-key.pem"] = inPEM(ca), secret
	for _, name := range []string{"ca.crt", "ca.key", "sa.key", "sa.pub", "front-proxy-ca.crt", "front-proxy-ca.key", "secrets_encryption.yaml"} {
		w.files["/etc/kubernetes/ssl/"+name] = secret + " " + name
	}
}

// stacked moves the keys to the places of a cluster in which Kubernetes runs etcd.
func (w *fixture) stacked() {
	const pki = "/etc/kubernetes/pki/"
	for from, to := range map[string]string{"ca.pem": "etcd/ca.crt", "ca-key.pem": "etcd/ca.key", "admin-m-1.pem": "etcd/server.crt", "admin-m-1-key.pem": "etcd/server.key"} {
		w.files[pki+to] = w.files[etcdOnHost+"/"+from]
	}
	for name, content := range w.files {
		if rest, moved := strings.CutPrefix(name, "/etc/kubernetes/ssl/"); moved {
			w.files[pki+rest] = content
		}
		if !strings.HasPrefix(name, pki) {
			delete(w.files, name)
		}
	}
	delete(w.files, pki+"secrets_encryption.yaml")
}

func (w *fixture) issue(ca *x509.Certificate, caKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "etcd"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: ca == nil, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ca == nil {
		ca, caKey = template, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, caKey)
	if err != nil {
		w.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		w.t.Fatal(err)
	}
	return made, key
}

func inPEM(certificate *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
}

func keyInPEM(t *testing.T, key *ecdsa.PrivateKey) string {
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}))
}
