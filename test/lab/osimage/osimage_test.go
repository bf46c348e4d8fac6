package osimage

import (
	"os/exec"
	"slices"
	"testing"
)

func TestShellIsWellFormed(t *testing.T) {
	scripts := []string{string(NodeInit)}
	for _, s := range []System{Node, Ansible, ProxyTools, Nginx, Busybox} {
		scripts = append(scripts, s.Setup...)
	}
	for _, script := range scripts {
		if out, err := exec.Command("sh", "-n", "-c", script).CombinedOutput(); err != nil {
			t.Errorf("%v: %s\n%s", err, out, script)
		}
	}
}

// With the variant extract, mmdebstrap ignores the setup commands, so such a System must have none.
func TestExtractHasNoSetup(t *testing.T) {
	for _, s := range []System{Node, Ansible, ProxyTools, Nginx, Busybox} {
		if s.Variant == "extract" && s.Setup != nil {
			t.Errorf("%s: setup would not run", s.Name)
		}
	}
}

func TestKeyChangesWithTheInputs(t *testing.T) {
	more := Node
	more.Packages = append(slices.Clone(Node.Packages), "vim-tiny")
	other := Node
	other.Setup = append(slices.Clone(Node.Setup), "true")
	if keys := []string{Node.Key(), more.Key(), other.Key()}; keys[0] == keys[1] || keys[0] == keys[2] || keys[1] == keys[2] {
		t.Error("two different systems have the same key")
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	if got := tail("a\nb\nc\n", 2); got != "b\nc" {
		t.Errorf("tail() = %q", got)
	}
}
