package backup

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// etcdPort is the port of etcd's clients, on loopback and at the node's address.
const etcdPort = "2379"

// loopback is the address to which etcd's certificates apply, besides the node's own.
const loopback = "127.0.0.1"

// keyPair is a client certificate for etcd with its key, and the CA of etcd, in PEM.
type keyPair struct{ ca, certificate, key []byte }

// etcd is a client of one member of etcd. It uses the API instead of etcdctl, because a snapshot then
// needs no space on the node, and no program that depends on how etcd was installed.
type etcd struct{ *grpc.ClientConn }

// dialEtcd returns a client of the member on a node. It connects through the SSH connection, or
// directly if the node's SSH server forwards no connections.
func dialEtcd(in Input, conn node.Connection, plane contract.Node, pair keyPair) (*etcd, error) {
	certificate, err := tls.X509KeyPair(pair.certificate, pair.key)
	if err != nil {
		return nil, errors.New("the client certificate of etcd and its key do not belong together") // err may quote the key
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pair.ca) {
		return nil, errors.New("the CA of etcd is not a certificate")
	}
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, in.ConnectLimit)
		defer cancel()
		return dialEither(ctx, conn, net.JoinHostPort(loopback, etcdPort), net.JoinHostPort(plane.Address, etcdPort))
	}
	client, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(loopback, etcdPort), grpc.WithContextDialer(dial), grpc.WithNoProxy(),
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
			ServerName: loopback, RootCAs: roots, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
		})),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 30 * time.Second}))
	if err != nil {
		return nil, err
	}
	return &etcd{client}, nil
}

// dialEither connects to the address tunnel on the node, or else to the address direct.
func dialEither(ctx context.Context, through ssh.Dialer, tunnel, direct string) (net.Conn, error) {
	conn, err := through.DialContext(ctx, "tcp", tunnel)
	if err == nil {
		return conn, nil
	}
	conn, failed := (&net.Dialer{}).DialContext(ctx, "tcp", direct)
	if failed != nil {
		return nil, fmt.Errorf("through SSH: %w; directly: %w", err, failed)
	}
	return conn, nil
}

// check returns the revision of etcd. It is an error if the member is not healthy: it must be a voter,
// know the leader, have no alarm of damaged data, and agree with the majority on a read.
func (e *etcd) check(ctx context.Context, limit time.Duration) (revision int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	status, err := pb.NewMaintenanceClient(e.ClientConn).Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return 0, fmt.Errorf("the member of etcd does not answer: %w", err)
	}
	if status.Leader == 0 {
		return 0, errors.New("the member of etcd knows no leader: most members of etcd do not answer")
	}
	if status.IsLearner {
		return 0, errors.New("the member of etcd is a learner: it has not joined completely")
	}
	alarms, err := pb.NewMaintenanceClient(e.ClientConn).Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_GET, Alarm: pb.AlarmType_CORRUPT})
	if err != nil {
		return 0, fmt.Errorf("ask etcd for alarms: %w", err)
	}
	if len(alarms.Alarms) > 0 {
		return 0, errors.New("etcd reports damaged data (alarm CORRUPT), so a copy of it could not be restored: see `etcdctl alarm list`")
	}
	answer, err := pb.NewKVClient(e.ClientConn).Range(ctx, &pb.RangeRequest{Key: []byte("health"), CountOnly: true}) // a read that needs the majority
	if err != nil {
		return 0, fmt.Errorf("etcd has no healthy majority: %w", err)
	}
	return cmp.Or(answer.Header.GetRevision(), status.Header.GetRevision()), nil
}

// snapshot is a snapshot that etcd sends.
type snapshot struct {
	size   int64
	stream pb.Maintenance_SnapshotClient
	rest   []byte
}

// checksumSize is the size of the SHA-256 that etcd sends after the content.
const checksumSize = 32

// snapshot starts a snapshot. It ends with the context.
func (e *etcd) snapshot(ctx context.Context) (*snapshot, error) {
	stream, err := pb.NewMaintenanceClient(e.ClientConn).Snapshot(ctx, &pb.SnapshotRequest{})
	if err != nil {
		return nil, fmt.Errorf("start a snapshot of etcd: %w", err)
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, fmt.Errorf("start a snapshot of etcd: %w", err)
	}
	return &snapshot{size: int64(len(first.Blob)) + int64(first.RemainingBytes) + checksumSize, stream: stream, rest: first.Blob}, nil
}

// Read implements io.Reader.
func (s *snapshot) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		next, err := s.stream.Recv()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, fmt.Errorf("receive the snapshot of etcd: %w", err)
		}
		s.rest = next.Blob
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
