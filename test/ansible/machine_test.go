//go:build e2e

package ansible

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/tasks/playbook/acceleration"
	"github.com/akraino-icn/bpa/test/lab/fleet"
	"github.com/akraino-icn/bpa/test/site"
)

// limit is the time for one target, also if the machine is busy with other tests.
const limit = 10 * time.Minute

// outcome is the result of a target as testdata/play.py prints it.
type outcome struct {
	RC      int      `json:"rc"`
	Seconds float64  `json:"seconds"`
	Results int      `json:"results"` // number of lines of the result
	Digest  string   `json:"digest"`  // of these lines
	Off     []string `json:"off"`     // what Ansible has printed of accelerations that are off
}

// same reports whether the tasks of two runs have the same results.
func (o outcome) same(other outcome) bool { return o.RC == other.RC && o.Digest == other.Digest }

// machine is a lab machine that plays targets.
type machine struct {
	t        *testing.T
	pod      string
	switches []string // the variables of the environment that switch the accelerations on
}

// newMachines makes lab machines that can play targets. They are removed when the test ends.
func newMachines(t *testing.T, namespace string, n int) []machine {
	t.Helper()
	venv, core := file(t, "lab", "layers", "venv.tar.gz"), file(t, "ansible-core", "ansible_core-*.tar.gz")
	switches, files := prepared(t)
	site.New(t, namespace, n, 0)
	var all []machine
	for i := range n {
		m := machine{t, fmt.Sprintf("%s-host-%d", namespace, i+1), switches}
		m.run(bytes.NewReader(venv), 2*time.Minute, "tar", "xz", "-C", "/")
		m.run(bytes.NewReader(core), 2*time.Minute, "tar", "xz", "-C", "/opt")
		m.run(bytes.NewReader(files), time.Minute, "tar", "x", "-C", "/opt")
		m.run(nil, time.Minute, "sh", "/opt/machine.sh")
		all = append(all, m)
	}
	return all
}

// file returns the content of a file below the cache of the bootstrap machine.
func file(t *testing.T, path ...string) []byte {
	t.Helper()
	pattern := filepath.Join(append([]string{site.State(), "cache"}, path...)...)
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("want one file %s, found %q: run make up and make ansible-core", pattern, found)
	}
	content, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// prepared returns a tar file for /opt of a machine, and the variables of the environment with which Ansible uses the
// accelerations in it.
func prepared(t *testing.T) (switches []string, files []byte) {
	t.Helper()
	stage := t.TempDir()
	folder := filepath.Join(stage, "acceleration")
	switches, err := acceleration.Install(folder, acceleration.On(nil), "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range switches {
		switches[i] = strings.ReplaceAll(switches[i], stage, "/opt")
	}
	for _, from := range []string{"testdata", filepath.Join(site.State(), "cache", "ansible-core", "node")} {
		if err := os.CopyFS(stage, os.DirFS(from)); err != nil {
			t.Fatalf("%v: run make ansible-core", err)
		}
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.AddFS(os.DirFS(stage)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return switches, out.Bytes()
}

// run runs a command on the machine and returns what it has printed.
func (m machine) run(stdin *bytes.Reader, limit time.Duration, words ...string) string {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), limit)
	defer cancel()
	args := []string{"--kubeconfig", filepath.Join(site.State(), "kubeconfig"), "--namespace", fleet.PodNamespace, "exec", "-i", m.pod, "--"}
	cmd := exec.CommandContext(ctx, filepath.Join(site.State(), "bin", "kubectl"), append(args, words...)...)
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("%s on %s: %v\n%s%s", strings.Join(words, " "), m.pod, err, out, &stderr)
	}
	return string(out)
}

// play plays a target, with all accelerations or with none.
func (m machine) play(target string, accelerated bool) outcome {
	m.t.Helper()
	words := []string{"env"}
	if accelerated {
		words = append(words, m.switches...)
	}
	out := m.run(nil, limit+time.Minute, append(words, "python3", "/opt/play.py", target, fmt.Sprint(limit.Seconds()))...)
	var o outcome
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		m.t.Fatalf("target %s: %v: %s", target, err, out)
	}
	return o
}

// lines returns the results of the last run of a target, one for each line.
func (m machine) lines(target string) []string {
	m.t.Helper()
	return strings.Split(m.run(nil, time.Minute, "cat", "/opt/results/"+target), "\n")
}

// printed returns the end of what a target has printed in its last run.
func (m machine) printed(target string) string {
	m.t.Helper()
	return m.run(nil, time.Minute, "tail", "-c", "3000", "/opt/results/"+target+".log")
}
