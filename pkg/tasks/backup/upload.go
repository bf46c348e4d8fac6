package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// run is a run that has found a source.
type run struct {
	in        Input
	ports     Ports
	depot     *client.Depot
	place     protocol.Ref
	source    *source
	version   string
	installed string // text of the record of the cluster
	inventory inventory.Inventory
}

// attempts limits how often a run starts an upload if the depot is busy.
const attempts = 5

// upload makes the backup and stores it. If the depot is busy, it starts again with another snapshot,
// because the first one has not been kept.
func (r run) upload(ctx context.Context) (Output, error) {
	for n := 1; ; n++ {
		out, err := r.try(ctx)
		var busy *client.Busy
		if !errors.As(err, &busy) || n == attempts {
			return out, err
		}
		fmt.Fprintf(r.ports.Log, "The depot is busy, trying again in %s\n", busy.After)
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(busy.After):
		}
	}
}

// try makes one backup and stores it.
func (r run) try(ctx context.Context) (Output, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the snapshot and the upload if one of them has failed
	snapshot, err := r.source.etcd.snapshot(ctx)
	if err != nil {
		return Output{}, r.failed(contract.ReasonClusterUnhealthy, "copy etcd", err)
	}
	w, err := r.writer(snapshot)
	if err != nil {
		return Output{}, r.failed(contract.ReasonBackupFailed, "prepare the backup", err)
	}
	size, err := w.Size()
	if err != nil {
		return Output{}, r.failed(contract.ReasonBackupFailed, "prepare the backup", err)
	}
	fmt.Fprintf(r.ports.Log, "Copying etcd of %s: %d bytes at revision %d, to %s at %s\n", r.source.node.Name, snapshot.size, r.source.revision, r.place.FilePath(), r.depot.URL())
	sum, err := r.send(ctx, w, size)
	if err != nil {
		return Output{}, err
	}
	stored, there, err := r.depot.FileState(ctx, r.place.FilePath(), true)
	if err != nil {
		return Output{}, task.Because(contract.ReasonDepotUnavailable, fmt.Errorf("read the digest of the stored backup: %w", err))
	}
	if !there || stored.SHA256 != sum || stored.Size != size {
		return Output{}, task.Because(contract.ReasonDepotUnavailable, fmt.Errorf("the depot has stored other bytes than it was sent: size %d and SHA-256 %s, want %d and %s",
			stored.Size, stored.SHA256, size, sum))
	}
	fmt.Fprintf(r.ports.Log, "Stored %d bytes, SHA-256 %s (compared)\n", size, sum)
	return Output{SHA256: sum, Size: size, Revision: r.source.revision, Member: r.source.node.Name, Version: r.version}, nil
}

// writer returns the backup that is to be stored.
func (r run) writer(snapshot *snapshot) (*backup.Writer, error) {
	files := append([]backup.File{{Name: backup.FileInstalled, Content: []byte(r.installed)}}, r.source.files...)
	for _, f := range []backup.File{{Name: backup.FileHostsINI, Content: r.inventory.HostsINI}, {Name: backup.FileGroupVars, Content: r.inventory.GroupVars}} {
		if len(f.Content) > 0 {
			files = append(files, f)
		}
	}
	return backup.NewWriter(backup.Manifest{
		Namespace: r.in.Request.Namespace, Provisioning: r.in.Request.Provisioning, UID: r.in.Request.UID, Time: r.ports.Now().UTC(),
		KubernetesVersion: r.version, Member: r.source.node.Name, Revision: r.source.revision,
		PKIFolder: r.source.pkiFolder, EtcdPKIFolder: r.source.etcdFolder,
	}, files, backup.Snapshot{Size: snapshot.size, Reader: snapshot}, r.in.Recipient)
}

// send encrypts the backup and sends it. It returns the digest of what it has sent.
func (r run) send(ctx context.Context, w *backup.Writer, size int64) (string, error) {
	out, in := io.Pipe()
	made := make(chan error, 1)
	go func() {
		_, err := w.WriteTo(in)
		in.CloseWithError(err) // nil means the end of the content
		made <- err
	}()
	sum := sha256.New()
	err := r.depot.PutFile(ctx, r.place.FilePath(), size, "", io.TeeReader(out, sum))
	out.CloseWithError(errNotRead)
	if failed := <-made; failed != nil && !errors.Is(failed, errNotRead) { // the cause, of which the upload sees only a body that ends too early
		return "", r.failed(contract.ReasonClusterUnhealthy, "copy etcd", failed)
	}
	if err != nil {
		return "", task.Because(contract.ReasonDepotUnavailable, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// errNotRead ends the writer if the depot does not read the whole backup.
var errNotRead = errors.New("the depot has not read the backup to its end")

func (r run) failed(reason contract.Reason, step string, err error) error {
	return &task.Error{Reason: reason, Host: r.source.node.Name, Step: step, Err: err}
}
