package restore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"filippo.io/age"
	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/backup"
	"github.com/akraino-icn/bpa/bootstrap/internal/config"
	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/pki"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
	"github.com/akraino-icn/bpa/bootstrap/internal/target"
)

// Restore describes one restore.
type Restore struct {
	Layout layout.Layout
	Paths  supervisor.Paths
	File   string // the backup, or its address
	Access target.Access
	Keys   []age.Identity
	PKI    pki.Machine // what the certificates of the machine contain
	Log    io.Writer   // receives the output of tools
	Now    time.Time
}

// Report says what was restored.
type Report struct {
	Manifest backup.Manifest
	Hosts    []Host
	Paused   []string // Provisionings, as NAMESPACE/NAME
	Deleting []string // Provisionings that were being deleted, which goes on
	// Missing is how many files of the depot the backup lists and the depot lacks; First are some of them.
	Missing, Listed int
	First           []string
}

// Names of the parts of the new state in the folder of the restore. commit exists while they replace the old state.
const (
	unpacked = "unpacked"
	newEtcd  = "etcd"
	commit   = "commit"
)

// Run restores the machine. The caller makes sure that no container runs.
func (r Restore) Run(ctx context.Context) (Report, error) {
	for _, program := range []string{"etcd", "etcdutl", "kube-apiserver"} {
		if _, err := os.Stat(r.Layout.Bin(program)); err != nil {
			return Report{}, fmt.Errorf("the machine has no program %s (%w): run `machine build` in a checkout of the source first", program, err)
		}
	}
	release, err := supervisor.Hold(r.Paths)
	if err != nil {
		return Report{}, fmt.Errorf("%w: run `machine down` first", err)
	}
	defer release()
	if err := Finish(r.Layout); err != nil {
		return Report{}, err
	}
	if err := os.MkdirAll(r.Layout.RestoreDir(), 0o700); err != nil {
		return Report{}, err
	}
	report, err := r.stage(ctx)
	if err != nil {
		return Report{}, errors.Join(err, os.RemoveAll(r.Layout.RestoreDir()))
	}
	if err := errors.Join(os.RemoveAll(r.Layout.BeforeRestore()), syncAll(r.Layout)); err != nil {
		return Report{}, errors.Join(err, os.RemoveAll(r.Layout.RestoreDir()))
	}
	if err := disk.WriteFile(r.Layout.RestoreDir(commit), nil, 0o600); err != nil {
		return Report{}, errors.Join(err, os.RemoveAll(r.Layout.RestoreDir()))
	}
	return report, Finish(r.Layout)
}

// stage makes the new state in the folder of the restore.
func (r Restore) stage(ctx context.Context) (Report, error) {
	files := r.Layout.RestoreDir(unpacked)
	manifest, err := backup.Unpack(ctx, r.File, r.Access, r.Keys, files)
	if err != nil {
		return Report{}, err
	}
	report := Report{Manifest: manifest}
	if err := r.sameMachine(manifest); err != nil {
		return Report{}, err
	}
	if err := r.restoreEtcd(ctx); err != nil {
		return Report{}, err
	}
	if err := pki.Ensure(filepath.Join(files, "state", "pki"), r.PKI, r.Now); err != nil { // the backup can be older than its certificates last
		return Report{}, err
	}
	if err := r.detach(ctx, &report); err != nil {
		return Report{}, fmt.Errorf("detach the hosts in the backup: %w", err)
	}
	list, err := os.Open(filepath.Join(files, "depot.jsonl"))
	if err != nil {
		return Report{}, err
	}
	defer list.Close()
	report.Missing, report.Listed, report.First, err = backup.Missing(r.Layout, list)
	return report, err
}

// sameMachine returns an error if the folder has the data of another machine than the backup.
func (r Restore) sameMachine(m backup.Manifest) error {
	if _, err := os.Stat(r.Layout.Data("etcd")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if id, err := r.Layout.ID(); err != nil || id != m.Machine {
		return errors.Join(fmt.Errorf("the backup is of the machine %s, and %s has the machine %s: use another state folder, or run `machine destroy` first", m.Machine, r.Layout.Root, id), err)
	}
	return nil
}

func (r Restore) restoreEtcd(ctx context.Context) error {
	snapshot, data := r.Layout.RestoreDir(unpacked, "etcd.snapshot"), r.Layout.RestoreDir(newEtcd)
	cmd := exec.CommandContext(ctx, r.Layout.Bin("etcdutl"), append([]string{"snapshot", "restore", snapshot, "--data-dir=" + data}, config.EtcdMember()...)...)
	out, err := cmd.CombinedOutput()
	fmt.Fprintf(r.Log, "%s", out)
	if bytes.Contains(out, []byte(unix.ENOSPC.Error())) {
		err = fmt.Errorf("%w: free space on the disk of %s", unix.ENOSPC, r.Layout.Root)
	}
	if err != nil {
		return fmt.Errorf("make the data of etcd from its snapshot: %w: %s", err, tail(out))
	}
	return os.Remove(snapshot) // it takes as much space as the data
}

func tail(text []byte) string { return string(text[max(0, len(text)-2000):]) }
