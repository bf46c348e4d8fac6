package backup

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"

	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// source is the control plane from which a backup comes.
type source struct {
	node  contract.Node
	conn  node.Connection
	etcd  *etcd
	files []backup.File
	// revision is that of etcd when the source was opened. pkiFolder and etcdFolder are the folders of
	// the keys on the node; etcdFolder is empty if Kubernetes runs etcd.
	revision              int64
	pkiFolder, etcdFolder string
}

func (s *source) close() {
	s.etcd.Close()
	s.conn.Close()
}

// nodeName matches the names of nodes. The name is a part of file names on the node.
var nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// Folders of keys on a control plane. kubespray has its own folder for kubeadm's keys, and installs
// etcd on the machine or lets kubeadm run it in a pod.
var pkiFolders = []string{"/etc/kubernetes/ssl", "/etc/kubernetes/pki"}

const etcdOnHost = "/etc/ssl/etcd/ssl"

// open reads the keys of a control plane and connects to its member of etcd.
func open(ctx context.Context, in Input, conn node.Connection, plane contract.Node) (*source, error) {
	s := &source{node: plane, conn: conn}
	failed := func(reason contract.Reason, step string, err error) error {
		var unreachable *ssh.ExitError
		if reason == contract.ReasonBackupFailed && !errors.As(err, &unreachable) && errors.Is(err, ssh.ErrUnreachable) {
			reason = contract.ReasonHostUnreachable
		}
		return &task.Error{Reason: reason, Host: plane.Name, Step: step, Err: err}
	}
	if !nodeName.MatchString(plane.Name) {
		return nil, failed(contract.ReasonInvalidRequest, "", fmt.Errorf("%q is not the name of a node", plane.Name))
	}
	r := reader{ctx, in, conn}
	pair, err := s.readKeys(r)
	if err != nil {
		return nil, failed(contract.ReasonBackupFailed, "read the keys of the cluster", err)
	}
	if s.etcd, err = dialEtcd(in, conn, plane, pair); err != nil {
		return nil, failed(contract.ReasonBackupFailed, "connect to etcd", err)
	}
	if s.revision, err = s.etcd.check(ctx, in.ConnectLimit); err != nil {
		s.etcd.Close()
		return nil, failed(contract.ReasonClusterUnhealthy, "check etcd", err)
	}
	return s, nil
}

// readKeys reads the files of the backup, and the pair with which etcd accepts a client.
func (s *source) readKeys(r reader) (keyPair, error) {
	var pair keyPair
	for _, folder := range pkiFolders {
		if there, err := r.has(path.Join(folder, "ca.crt")); err != nil {
			return pair, err
		} else if there {
			s.pkiFolder = folder
			break
		}
	}
	if s.pkiFolder == "" {
		return pair, fmt.Errorf("neither %s nor %s has the keys of Kubernetes", pkiFolders[0], pkiFolders[1])
	}
	required := []string{"ca.crt", "ca.key", "sa.key", "sa.pub", "front-proxy-ca.crt", "front-proxy-ca.key"}
	admin := path.Join(etcdOnHost, "admin-"+s.node.Name)
	onHost, err := r.has(admin + ".pem")
	if err != nil {
		return pair, err
	}
	if !onHost {
		required = append(required, "etcd/ca.crt", "etcd/ca.key")
		admin = path.Join(s.pkiFolder, "etcd/server")
	}
	if err := s.add(r, backup.FolderPKI, s.pkiFolder, required...); err != nil {
		return pair, err
	}
	if err := s.addOptional(r, backup.FolderPKI, s.pkiFolder, "secrets_encryption.yaml"); err != nil {
		return pair, err
	}
	if !onHost {
		return r.pair(path.Join(s.pkiFolder, "etcd/ca.crt"), admin+".crt", admin+".key")
	}
	s.etcdFolder = etcdOnHost
	if err := s.add(r, backup.FolderEtcdPKI, etcdOnHost, "ca.pem", "ca-key.pem"); err != nil {
		return pair, err
	}
	return r.pair(path.Join(etcdOnHost, "ca.pem"), admin+".pem", admin+"-key.pem")
}

// add adds files of a folder of the node to the backup. Each of them must exist.
func (s *source) add(r reader, folder, from string, names ...string) error {
	for _, name := range names {
		content, err := r.read(path.Join(from, name))
		if err != nil {
			return err
		}
		s.files = append(s.files, backup.File{Name: path.Join(folder, name), Content: content})
	}
	return nil
}

func (s *source) addOptional(r reader, folder, from, name string) error {
	there, err := r.has(path.Join(from, name))
	if err != nil || !there {
		return err
	}
	return s.add(r, folder, from, name)
}

// reader reads files of a node. All file names are constants, except for a checked node name.
type reader struct {
	ctx  context.Context
	in   Input
	conn node.Connection
}

func (r reader) asRoot(command string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.in.ConnectLimit)
	defer cancel()
	return r.conn.Output(ctx, node.AsRoot(r.in.Request, command), 1<<20)
}

// has reports whether a file exists and is not empty.
func (r reader) has(file string) (bool, error) {
	_, err := r.asRoot("test -s " + file)
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return false, nil
	}
	return err == nil, err
}

func (r reader) read(file string) ([]byte, error) {
	content, err := r.asRoot("cat " + file)
	if err == nil && len(content) == 0 {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return content, nil
}

func (r reader) pair(ca, certificate, key string) (p keyPair, err error) {
	for _, f := range []struct {
		name string
		into *[]byte
	}{{ca, &p.ca}, {certificate, &p.certificate}, {key, &p.key}} {
		if *f.into, err = r.read(f.name); err != nil {
			return p, err
		}
	}
	return p, nil
}
