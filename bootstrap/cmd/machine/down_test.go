package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// The last step of down fails if a component still runs, and names its process.
func TestVerifyNamesAComponentThatIsLeft(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	tail, err := exec.LookPath("tail")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(tail)
	if err != nil {
		t.Fatal(err)
	}
	file := l.Data("etcd", "wal")
	// The copy must be named tail, because tail can be a multi-call binary, which selects its
	// function by its name.
	for path, content := range map[string][]byte{l.Bin("tail"): program, file: nil} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	left := exec.Command(l.Bin("tail"), "-f", file)
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = left.Process.Kill()
		_ = left.Wait()
	}()
	if err := verify(t.Context(), l); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("components: processes [%d]", left.Process.Pid)) {
		t.Errorf("%v; want process %d named", err, left.Process.Pid)
	}
}
