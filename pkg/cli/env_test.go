package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEnv: a shell that evaluates the output uses the kubeconfig of the cluster, and the last line takes it back.
func TestEnv(t *testing.T) {
	home := filepath.Join(t.TempDir(), "it's home")
	t.Setenv("HOME", home)
	t.Setenv("KUBECONFIG", "/site's/kubeconfig")
	p, secret := provisioning("edge-1"), kubeconfigSecret("edge-1-kubeconfig", storedKubeconfig(t))
	p.UID = "uid-of-edge-1"
	w := newTerminal(t, p, secret)
	w.expect(w.run(t.Context(), "env", "edge-1"), codeDone, `eval "$(kubectl bpa env edge-1 -n site-a)"`)
	file := filepath.Join(home, ".kube", "bpa", "edge-1-uid-of-edge-1.kubeconfig")
	if text, err := os.ReadFile(file); err != nil || string(text) != string(secret.Data[kubeconfigKey]) {
		t.Errorf("%v, the file has\n%s", err, text)
	}
	for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, want the mode %v", path, err, want)
		}
	}
	_, back, _ := strings.Cut(w.text(), "# Back to the site: ")
	script := w.text() + "\nprintf '%s\\n' \"$KUBECONFIG\"\n" + back + "\nprintf '%s\\n' \"$KUBECONFIG\"\n"
	out, err := exec.CommandContext(t.Context(), "sh", "-euc", script).CombinedOutput()
	if want := file + "\n/site's/kubeconfig\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}

	t.Setenv("KUBECONFIG", file) // the command is repeated, as after a rotation
	t.Chdir(t.TempDir())
	w = newTerminal(t, p, secret)
	w.expect(w.run(t.Context(), "env", "edge-1", "--to", "here"), codeDone, "export KUBECONFIG='/", "/here'\n", "Back to the site: export KUBECONFIG='")
	w = newTerminal(t, p, secret)
	w.expect(w.run(t.Context(), "env", "edge-1"), codeDone, "Back to the site: unset KUBECONFIG\n")
	w = newTerminal(t, provisioning("edge-1"))
	w.expect(w.run(t.Context(), "env", "edge-1"), codeNotYet, "edge-1 has no kubeconfig yet")
	if strings.Contains(w.text(), "export") {
		t.Errorf("a shell would evaluate:\n%s", w.text())
	}
}
