package play_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
)

// withRoles lets the playbooks of a fixture have kubespray's roles.
func withRoles(t *testing.T, w *kubespraytest.Fixture) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(w.In.PlaybooksDir, "roles", "kubespray_defaults"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// onWrite is a writer.
type onWrite func(p []byte) (int, error)

func (write onWrite) Write(p []byte) (int, error) { return write(p) }

// The nodes fetch while the playbook runs. The end of the playbook ends this, and its failure is none of the run.
func TestPrefetch(t *testing.T) {
	for name, fetch := range map[string]func(ctx context.Context, stdout, stderr io.Writer) int{
		"is still busy at the end": func(ctx context.Context, _, _ io.Writer) int {
			<-ctx.Done()
			return 143
		},
		"fails": func(_ context.Context, stdout, stderr io.Writer) int {
			return kubespraytest.Recorded("failed", 2)(process.Command{}, stdout, stderr)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.New(t, 1)
			withRoles(t, w)
			ports, begun := w.Ports(), make(chan process.Command, 1)
			ended, logged := make(chan struct{}), make(chan struct{})
			ports.Log = onWrite(func(p []byte) (int, error) {
				if bytes.Contains(p, []byte("Not everything was prefetched, so the playbook fetches the rest: ")) {
					close(logged)
				}
				return w.Log.Write(p)
			})
			installs := ports.Playbook
			ports.Playbook = func(ctx context.Context, c process.Command, stdout, stderr io.Writer) (int, error) {
				if !strings.HasSuffix(c.Args[len(c.Args)-1], "prefetch.yml") {
					begun <- <-begun // the playbook of the installation ends after the other one has begun
					if name == "fails" {
						select {
						case <-logged:
						case <-ctx.Done():
						}
					}
					return installs(ctx, c, stdout, stderr)
				}
				begun <- c
				defer close(ended)
				return fetch(ctx, stdout, stderr), nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if _, err := kubespray.Run(ctx, w.In, ports); err != nil {
				t.Fatalf("%v\n%s", err, &w.Log)
			}
			c := <-begun
			select {
			case <-ended:
			default:
				t.Error("the run has ended, and the nodes still fetch")
			}
			own := process.ControlPaths + "=" + filepath.Join(w.In.ScratchDir, "prefetch", "cp")
			if !slices.Contains(c.Env, own) {
				t.Errorf("environment %q, want %s: the end of one playbook would end the connections of the other", c.Env, own)
			}
			if failed := strings.Contains(w.Log.String(), "Not everything was prefetched"); failed != (name == "fails") {
				t.Errorf("the log says that it failed: %t\n%s", failed, &w.Log)
			}
		})
	}
}
