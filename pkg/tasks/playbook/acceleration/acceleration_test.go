package acceleration

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOn(t *testing.T) {
	for name, test := range map[string]struct{ off, want []string }{
		"all are on":      {nil, Names},
		"one is off":      {[]string{InProcess}, []string{TemplateCache, Threads, LazyVariables, PreparedFacts, ModuleCache, Interpreter, Prefetch, Variables}},
		"no threads":      {[]string{Threads}, []string{TemplateCache, InProcess, LazyVariables, PreparedFacts, ModuleCache, Interpreter, Variables}},
		"all are off":     {[]string{InProcess, All}, nil},
		"an unknown name": {[]string{"Magic"}, Names},
	} {
		if diff := cmp.Diff(test.want, On(test.off)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if !slices.Equal(Names, []string{TemplateCache, Threads, InProcess, LazyVariables, PreparedFacts, ModuleCache, Interpreter, Prefetch, Variables}) {
		t.Error("On has changed Names")
	}
}

func TestInstall(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "acceleration")
	for name, test := range map[string]struct {
		on         []string
		strategies string
		want       []string
	}{
		"none":           {nil, "/image", nil},
		"only variables": {[]string{Variables}, "/image", nil},
		"all": {Names, "/image", []string{"ANSIBLE_STRATEGY_PLUGINS=FOLDER/plugins:/image",
			`BPA_ACCELERATION={"templates":"FOLDER/templates","threads":true,"inProcess":true,"lazyVariables":["downloads"],"facts":true,"modules":true,"interpreter":"FOLDER/nodes"}`}},
		"one": {[]string{InProcess}, "", []string{"ANSIBLE_STRATEGY_PLUGINS=FOLDER/plugins", `BPA_ACCELERATION={"inProcess":true}`}},
	} {
		env, err := Install(folder, test.on, test.strategies)
		if err != nil {
			t.Fatal(err)
		}
		for i := range env {
			env[i] = strings.ReplaceAll(env[i], folder, "FOLDER")
		}
		if diff := cmp.Diff(test.want, env); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The files are executed with the key to all nodes, so only this user can write to them, and what another
// playbook of the run has left is replaced.
func TestInstallWritesPrivately(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "acceleration")
	if err := os.MkdirAll(filepath.Join(folder, "plugins"), 0o700); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(folder, "plugins/old.py")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(folder, Names, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("old file: %v", err)
	}
	var files []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		files = append(files, filepath.Base(path))
		return err
	})
	if err != nil || !slices.Contains(files, "linear.py") || !slices.Contains(files, "__init__.py") || !slices.Contains(files, "inprocess.py") {
		t.Errorf("files %v, error %v", files, err)
	}
}

func TestInstallReportsItsError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(file, Names, ""); err == nil || !strings.Contains(err.Error(), "strategy plugin") {
		t.Errorf("error %v", err)
	}
}
