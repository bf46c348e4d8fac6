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

// Cluster is the running node.
type Cluster struct {
	Layout layout.Layout
	Source string    // folder of the bootstrap module
	Log    io.Writer // what the tools say
	// Progress counts what go build compiles; nil means that nobody asks.
	Progress *build.Progress
}

// kubectl runs one command with a time limit and gives its output.
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

// AwaitNode returns when the node takes pods.
func (c Cluster) AwaitNode(ctx context.Context) error {
	if _, err := c.kubectl(ctx, time.Minute, nil, "wait", "node/"+layout.NodeName, "--for=create", "--timeout=50s"); err != nil {
		return err
	}
	_, err := c.kubectl(ctx, 2*time.Minute, nil, "wait", "node/"+layout.NodeName, "--for=condition=Ready", "--timeout=110s")
	return err
}

// Apply applies a set of manifests unless exactly these were applied under this name before, and tells whether it did.
func (c Cluster) Apply(ctx context.Context, name string, manifests []byte) (changed bool, err error) {
	if c.applied(name, manifests) {
		return false, nil
	}
	return true, c.applyAgain(ctx, name, manifests)
}

// applied tells whether exactly these manifests were the last under this name.
func (c Cluster) applied(name string, manifests []byte) bool {
	have, err := os.ReadFile(c.Layout.Data("applied", name))
	return err == nil && string(have) == sum(manifests)
}

func (c Cluster) applyAgain(ctx context.Context, name string, manifests []byte) error {
	if err := c.applyNow(ctx, manifests); err != nil {
		return fmt.Errorf("apply %s: %w", name, err)
	}
	mark := c.Layout.Data("applied", name)
	if err := os.MkdirAll(filepath.Dir(mark), 0o755); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(sum(manifests)), 0o644)
}

// applyNow applies server-side: Tekton's CRDs are larger than the annotation that kubectl would keep otherwise. A kind
// whose definition is in the same set, or whose webhook is just starting, is refused at first: that is tried again.
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

// AwaitRollout returns when all deployments of a namespace run what they should.
func (c Cluster) AwaitRollout(ctx context.Context, namespace string) error {
	_, err := c.kubectl(ctx, 4*time.Minute, nil, "-n", namespace, "rollout", "status", "deployment", "--timeout=220s")
	return err
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}
