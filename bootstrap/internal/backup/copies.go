package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/bootstrap/internal/kubernetes"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/target"
)

// Copies copies the Backups of clusters between the depot of a machine and a target. Each is encrypted for the key of its
// cluster already.
type Copies struct {
	Layout layout.Layout
	API    *kubernetes.Client
	Depot  string // URL of a listener of the depot that accepts the token of the machine
}

// ClusterBackup is an object of the kind Backup whose content is in a depot.
type ClusterBackup struct {
	Namespace, Name string
	Depot           string // URL of the depot that it was stored in
	Artifact        string // path below /files
	Size            int64
	SHA256          string
}

func (b ClusterBackup) String() string { return b.Namespace + "/" + b.Name }

// file returns the name of the copy. It is a tag of a registry, which has at most 128 characters, so the readable part may
// be cut; the digest makes it unique.
func (b ClusterBackup) file(machine string) string {
	prefix, suffix := copyPrefix(machine), "-"+b.SHA256[:12]+".tar.age"
	_, readable, _ := strings.Cut(b.Artifact, "/")
	readable = strings.ReplaceAll(strings.TrimSuffix(readable, ".tar.age"), "/", ".")
	return prefix + readable[:min(len(readable), 128-len(prefix)-len(suffix))] + suffix
}

func copyPrefix(machine string) string { return "bpa-backup-" + machine + "-" }

// Backups returns the Backups of clusters that have succeeded.
func (c Copies) Backups(ctx context.Context) ([]ClusterBackup, error) {
	var list struct {
		Items []struct {
			Metadata struct{ Namespace, Name string }
			Status   struct {
				Depot, Artifact, SHA256 string
				Size                    int64
			}
		}
	}
	err := c.API.Get(ctx, "/apis/bpa.akraino.org/v1alpha1/backups", &list)
	if errors.Is(err, kubernetes.ErrNotFound) { // a machine without BPA
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the Backups: %w", err)
	}
	var all []ClusterBackup
	for _, item := range list.Items {
		if s := item.Status; len(s.SHA256) == hex.EncodedLen(sha256.Size) && strings.Count(s.Artifact, "/") == 3 {
			all = append(all, ClusterBackup{item.Metadata.Namespace, item.Metadata.Name, s.Depot, s.Artifact, s.Size, s.SHA256})
		}
	}
	return all, nil
}

// Store copies the Backups that a target lacks. It goes on after a Backup that cannot be copied; the error names all of
// them. It removes nothing from the target.
func (c Copies) Store(ctx context.Context, to target.Target) (done Copied, err error) {
	return c.each(ctx, to, func(b ClusterBackup, file string, have []string) (bool, error) {
		if slices.Contains(have, file) {
			return false, nil
		}
		resp, err := c.do(ctx, http.MethodGet, "/files/"+b.Artifact, nil, 0, nil)
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		switch {
		case resp.StatusCode == http.StatusNotFound && elsewhere(c.Layout, b.Depot):
			return false, nil
		case resp.StatusCode != http.StatusOK:
			return false, fmt.Errorf("the depot does not have it: %s answers %s", b.Artifact, resp.Status)
		}
		return true, to.Write(ctx, file, func(w io.Writer) error { return b.check(w, resp.Body) })
	})
}

// Return copies the Backups that the depot lacks back from a target.
func (c Copies) Return(ctx context.Context, from target.Target) (done Copied, err error) {
	return c.each(ctx, from, func(b ClusterBackup, file string, have []string) (bool, error) {
		resp, err := c.do(ctx, http.MethodHead, "/files/"+b.Artifact, nil, 0, nil)
		if err != nil {
			return false, err
		}
		resp.Body.Close()
		switch {
		case resp.StatusCode == http.StatusOK || elsewhere(c.Layout, b.Depot):
			return false, nil
		case resp.StatusCode != http.StatusNotFound:
			return false, fmt.Errorf("the depot answers %s", resp.Status)
		case !slices.Contains(have, file):
			return false, fmt.Errorf("neither the depot nor %s has it", from.Address(file))
		}
		return true, c.upload(ctx, b, from, file)
	})
}

// each calls do for each Backup, with the name of its file in the target and the files that are there.
func (c Copies) each(ctx context.Context, t target.Target, do func(b ClusterBackup, file string, have []string) (copied bool, err error)) (done Copied, err error) {
	unlock, err := lock(c.Layout.BackupLock() + ".copies")
	if err != nil {
		return done, err
	}
	defer unlock()
	machine, err := c.Layout.ID()
	if err != nil {
		return done, err
	}
	if err := t.Clean(ctx, copyPrefix(machine)); err != nil {
		return done, err
	}
	have, err := t.List(ctx)
	if err != nil {
		return done, err
	}
	all, err := c.Backups(ctx)
	for _, b := range all {
		copied, failed := do(b, b.file(machine), have)
		switch {
		case ctx.Err() != nil:
			return done, errors.Join(err, ctx.Err())
		case failed != nil:
			err = errors.Join(err, fmt.Errorf("copy Backup %s: %w", b, failed))
		case copied:
			done.Files, done.Bytes = done.Files+1, done.Bytes+b.Size
		default:
			done.Present++
		}
	}
	return done, err
}

// elsewhere reports whether an address is that of another depot than the machine's. Its Backups are its own matter.
func elsewhere(l layout.Layout, address string) bool {
	u, err := url.Parse(address)
	return err == nil && !slices.Contains(append(l.Net().Hosts(), l.Net().NodeIP()), u.Hostname())
}

// check copies a Backup, and returns an error unless it is the whole one.
func (b ClusterBackup) check(w io.Writer, r io.Reader) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), r)
	if err != nil {
		return err
	}
	if have := hex.EncodeToString(sum.Sum(nil)); n != b.Size || have != b.SHA256 {
		return fmt.Errorf("its content is damaged: %d bytes with the digest %s in the place of %d with %s", n, have, b.Size, b.SHA256)
	}
	return nil
}

// upload stores a Backup in the depot, which compares its digest.
func (c Copies) upload(ctx context.Context, b ClusterBackup, from target.Target, name string) error {
	content, err := from.Open(ctx, name)
	if err != nil {
		return err
	}
	defer content.Close()
	parts := strings.Split(b.Artifact, "/") // kind, owner, cluster, name
	path := "/v1/baremetalcluster/" + strings.Join([]string{parts[1], parts[2], parts[0], parts[3]}, "/") + "/content"
	resp, err := c.do(ctx, http.MethodPut, path, content, b.Size, http.Header{"X-Checksum-Sha256": {b.SHA256}})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("the depot answers %s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

// do sends a request to the depot, with the token of the machine.
func (c Copies) do(ctx context.Context, method, path string, body io.Reader, size int64, header http.Header) (*http.Response, error) {
	token, err := os.ReadFile(c.Layout.DepotToken())
	if err != nil {
		return nil, fmt.Errorf("read the token of the depot: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Depot+path, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = size
	for key, values := range header {
		req.Header[key] = values
	}
	req.SetBasicAuth("machine", strings.TrimSpace(string(token)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the depot: %w: run `machine start` if the machine is stopped", err)
	}
	return resp, nil
}
