package restore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
	kubernetes "github.com/akraino-icn/bpa/pkg/upgrade"
)

// backupCopy is the copy of a backup in the depot. It is read again for each member of etcd, because
// it is larger than the memory of the pod.
type backupCopy struct {
	open   func(ctx context.Context) (io.ReadCloser, error)
	sha256 string
	key    string
}

var (
	// errDepot reports that the copy cannot be read.
	errDepot = errors.New("read the copy in the depot")
	// errDamaged reports that the copy is not the one that the Backup has stored.
	errDamaged = errors.New("the copy in the depot has been changed")
)

// read decrypts the copy and writes the snapshot of etcd to out. If it returns an error, the written
// bytes must not be used.
func (c backupCopy) read(ctx context.Context, out io.Writer) (*backup.Open, error) {
	body, err := c.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDepot, err)
	}
	defer body.Close()
	sum := sha256.New()
	source := &depotReader{in: io.TeeReader(body, sum)}
	opened, err := backup.Read(source, c.key)
	if err == nil {
		err = opened.WriteSnapshot(out)
	}
	if source.err == nil {
		_, _ = io.Copy(io.Discard, source) // the digest is that of all bytes; source keeps the error
	}
	switch {
	case source.err != nil:
		return nil, source.err
	case hex.EncodeToString(sum.Sum(nil)) != c.sha256: // this explains any other error
		return nil, fmt.Errorf("%w: its SHA-256 is %x, and that of the Backup is %s", errDamaged, sum.Sum(nil), session.Printable(c.sha256))
	}
	return opened, err
}

// depotReader is a reader that marks and keeps the errors of the depot.
type depotReader struct {
	in  io.Reader
	err error
}

func (r *depotReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errDepot, err)
		r.err = err
	}
	return n, err
}

// placeOf returns the path of the copy in the depot. The request has its name, or its whole path.
func placeOf(r contract.Request) (string, error) {
	place := backup.Place(r.Namespace, r.Provisioning, r.Restore.Artifact)
	if given, ok := protocol.ParseFilePath(r.Restore.Artifact); ok {
		if given.Owner != r.Namespace || given.Cluster != r.Provisioning {
			return "", fmt.Errorf("the copy %s is not of this cluster", session.Printable(r.Restore.Artifact))
		}
		place = given
	}
	if err := place.Validate(); err != nil {
		return "", fmt.Errorf("the name of the copy: %w", err)
	}
	return place.FilePath(), nil
}

// checkBackup returns an error if the backup cannot be restored into the cluster of the request. planes
// are the control planes that the run installs.
func checkBackup(o *backup.Open, r contract.Request, planes []contract.Node) error {
	m := o.Manifest
	if m.Namespace != r.Namespace || m.Provisioning != r.Provisioning || m.UID != r.UID {
		return fmt.Errorf("it is of another cluster: Provisioning %s with UID %s. The workers of this cluster would not accept its keys",
			session.Printable(m.Namespace+"/"+m.Provisioning), session.Printable(m.UID))
	}
	for _, n := range planes {
		version := r.KubernetesVersion
		if n.Version != "" {
			version = n.Version
		}
		older := kubernetes.SameMinor(m.KubernetesVersion, version) && kubernetes.Compare(m.KubernetesVersion, version) <= 0
		if m.KubernetesVersion != "" && m.KubernetesVersion != version && !older {
			return fmt.Errorf("it was made with Kubernetes %s, but control plane %s gets %s. Choose a Backup of the same minor version that is not newer (kubectl bpa backups %s -n %s)",
				session.Printable(m.KubernetesVersion), n.Name, version, r.Provisioning, r.Namespace)
		}
	}
	_, err := keyFiles(o)
	return err
}

// keyFile is a file with a key or a certificate that is written to each new control plane.
type keyFile struct {
	path    string
	mode    string
	content []byte
}

// keyName matches the names of key files in a backup. A name becomes a part of a script.
var keyName = regexp.MustCompile(`^([a-z0-9][A-Za-z0-9._-]*/)?[a-z0-9][A-Za-z0-9._-]*$`)

// Folders of the keys on a control plane, and the files that must be there so that kubeadm and
// kubespray make none of their own. Other authorities on some of the machines cannot be repaired by
// another attempt.
var (
	pkiFolders  = []string{"/etc/kubernetes/ssl", "/etc/kubernetes/pki"}
	pkiRequired = []string{"ca.crt", "ca.key", "sa.key", "sa.pub", "front-proxy-ca.crt", "front-proxy-ca.key"}
)

// keyFiles returns the key files of a backup.
func keyFiles(o *backup.Open) ([]keyFile, error) {
	m := o.Manifest
	if !slices.Contains(pkiFolders, m.PKIFolder) || m.EtcdPKIFolder != "" && m.EtcdPKIFolder != strings.TrimSuffix(etcd.HostCertificates, "/") {
		return nil, fmt.Errorf("its keys are from the unknown folders %s", session.Printable(m.PKIFolder+" "+m.EtcdPKIFolder))
	}
	required := map[string]bool{}
	for _, name := range pkiRequired {
		required[path.Join(backup.FolderPKI, name)] = true
	}
	if m.EtcdPKIFolder == "" {
		required[backup.FolderPKI+"/etcd/ca.crt"], required[backup.FolderPKI+"/etcd/ca.key"] = true, true
	} else {
		required[backup.FolderEtcdPKI+"/ca.pem"], required[backup.FolderEtcdPKI+"/ca-key.pem"] = true, true
	}
	var files []keyFile
	for _, f := range m.Files {
		folder, name, _ := strings.Cut(f.Name, "/")
		to := map[string]string{backup.FolderPKI: m.PKIFolder, backup.FolderEtcdPKI: m.EtcdPKIFolder}[folder]
		if to == "" {
			continue
		}
		if !keyName.MatchString(name) {
			return nil, fmt.Errorf("it has a key file with the name %q", session.Printable(f.Name))
		}
		mode := "0600"
		if ext := path.Ext(name); ext == ".crt" || ext == ".pub" || name == "ca.pem" {
			mode = "0644"
		}
		files = append(files, keyFile{path.Join(to, name), mode, o.Files[f.Name]})
		if len(o.Files[f.Name]) > 0 {
			delete(required, f.Name)
		}
	}
	for name := range required {
		return nil, fmt.Errorf("it lacks the key file %s", name)
	}
	return files, nil
}

// refused returns the error of a backup that cannot be restored.
func (r *restoration) refused(err error) error {
	reason := contract.ReasonInvalidRequest
	if errors.Is(err, errDepot) {
		reason = contract.ReasonDepotUnavailable
	}
	return &task.Error{Reason: reason, Step: "read the backup",
		Err: fmt.Errorf("the Backup %s cannot be restored: %w. %s", session.Printable(r.in.Request.Restore.Backup), err, r.unchanged())}
}

// unchanged is a sentence for the user: whether this or an earlier attempt has changed the cluster.
func (r *restoration) unchanged() string {
	if r.members.Now.Restoring != "" {
		return "An earlier attempt has begun the restore, so the cluster cannot be used"
	}
	return "Nothing was changed in the cluster"
}
