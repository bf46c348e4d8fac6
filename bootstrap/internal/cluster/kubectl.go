package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/build"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// Cluster installs software on the running node.
type Cluster struct {
	Layout layout.Layout
	Source string    // folder of the bootstrap module
	Log    io.Writer // receives the output of tools
	// Progress counts the packages that go build compiles; nil means that they are not counted.
	Progress *build.Progress
}

// kubectl runs one kubectl command with a time limit, and returns its standard output.
func (c Cluster) kubectl(ctx context.Context, limit time.Duration, stdin []byte, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Layout.Bin("kubectl"), append([]string{"--kubeconfig=" + c.Layout.Kubeconfig()}, args...)...)
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, c.Log), io.MultiWriter(&errs, c.Log)
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), errors.Join(err, ctx.Err()), strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// AwaitNode waits until the node is Ready.
func (c Cluster) AwaitNode(ctx context.Context) error {
	if _, err := c.kubectl(ctx, time.Minute, nil, "wait", "node/"+layout.NodeName, "--for=create", "--timeout=50s"); err != nil {
		return err
	}
	_, err := c.kubectl(ctx, 2*time.Minute, nil, "wait", "node/"+layout.NodeName, "--for=condition=Ready", "--timeout=110s")
	return err
}

// Apply applies a set of manifests, unless the set last applied under this name was identical. It
// reports whether it applied them.
func (c Cluster) Apply(ctx context.Context, name string, manifests []byte) (changed bool, err error) {
	if c.applied(name, manifests) {
		return false, nil
	}
	return true, c.applyAndRecord(ctx, name, manifests)
}

// applied reports whether these manifests are identical to those last applied under this name.
func (c Cluster) applied(name string, manifests []byte) bool {
	have, err := os.ReadFile(c.Layout.Data("applied", name))
	return err == nil && string(have) == sum(manifests)
}

// applyAndRecord applies the manifests and stores their hash under this name.
func (c Cluster) applyAndRecord(ctx context.Context, name string, manifests []byte) error {
	if err := c.applyNow(ctx, manifests); err != nil {
		return fmt.Errorf("apply %s: %w", name, err)
	}
	return c.record(name, manifests)
}

// record stores the hash of what was done under this name.
func (c Cluster) record(name string, manifests []byte) error {
	mark := c.Layout.Data("applied", name)
	if err := os.MkdirAll(filepath.Dir(mark), 0o755); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(sum(manifests)), 0o644)
}

// applyNow applies the manifests server-side, because Tekton's CRDs exceed the size limit of the
// annotation that client-side apply uses. The API server can reject an object at first, because its
// CRD is in the same set or its webhook is still starting. Then applyNow retries for up to 2
// minutes.
func (c Cluster) applyNow(ctx context.Context, manifests []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		_, err := c.kubectl(ctx, time.Minute, manifests, "apply", "--server-side", "--force-conflicts", "--field-manager="+fieldManager, "-f", "-")
		if err == nil || !startingUp(err.Error()) {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return err
		}
	}
}

func startingUp(message string) bool {
	for _, sign := range []string{"failed calling webhook", "no matches for kind", "ensure CRDs are installed first", "could not find the requested resource"} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return false
}

// AwaitRollout waits until all deployments of the namespace are rolled out.
func (c Cluster) AwaitRollout(ctx context.Context, namespace string) error {
	_, err := c.kubectl(ctx, 4*time.Minute, nil, "-n", namespace, "rollout", "status", "deployment", "--timeout=220s")
	return err
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}
