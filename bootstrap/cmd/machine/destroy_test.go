package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/bootstrap/internal/cluster"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// runCommand runs a command of machine on a state folder and returns what it prints. The commands of these tests must
// end before their first step: the steps work on the whole machine that runs the test.
func runCommand(t *testing.T, l layout.Layout, args ...string) (string, error) {
	t.Helper()
	cmd := root(l)
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func tree(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		files = append(files, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestRemovalsRefuseAFolderThatIsNotMarked(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	write(t, l.Etc("passwd"), "")
	write(t, l.Data("x"), "")
	before := tree(t, l.Root)
	for _, args := range [][]string{{"down"}, {"destroy"}, {"destroy", "--yes", ""}, {"clean", "--yes", "0a0a0a0a"}} {
		if out, err := runCommand(t, l, args...); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("machine %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if diff := cmp.Diff(before, tree(t, l.Root)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// CI calls make down also if it has failed before it started a machine.
func TestDownWithoutAMachineIsNoFailure(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	write(t, l.Bin("machine"), "")
	out, err := runCommand(t, l, "down")
	if err != nil || !strings.Contains(out, "nothing to stop") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := runCommand(t, l, "destroy"); !errors.Is(err, layout.ErrNoMachine) {
		t.Errorf("destroy: %v", err)
	}
}

func TestRemovalsNeedTheID(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	write(t, l.Marker(), "") // of a machine of before there were ids
	write(t, l.Data("etcd", "db"), "keys")
	for _, c := range []struct{ command, id string }{{"destroy", ""}, {"destroy", "0a0a0a0"}, {"clean", ""}, {"clean", "0a0a0a0"}} {
		args := []string{c.command}
		if c.id != "" {
			args = append(args, "--yes", c.id)
		}
		out, err := runCommand(t, l, args...)
		id, idErr := l.ID()
		if err == nil || idErr != nil || !strings.Contains(err.Error(), "nothing was deleted. To delete all of this, run `machine "+c.command+" --yes "+id+"`") {
			t.Errorf("%s: %v (%v)", args, err, idErr)
		}
		if !strings.Contains(out, "all clusters and Backups. Which ones is not known") || !strings.Contains(out, "run `machine start` first") {
			t.Errorf("%s does not say that the machine is stopped:\n%s", args, out)
		}
		if _, err := os.Stat(l.Data("etcd", "db")); err != nil {
			t.Fatal(err)
		}
		if err := destroyRemoval.confirm(id, id); err != nil {
			t.Errorf("the id is refused: %v", err)
		}
	}
	if destroyRemoval.confirm("", "") == nil {
		t.Error("an empty id is accepted")
	}
}

func TestRemovalsNameWhatTheyDelete(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	write(t, l.Bin("kubectl"), `#!/bin/sh
case "$*" in
*/provisionings) echo '{"items": [{"metadata": {"namespace": "a", "name": "edge-1"}}, {"metadata": {"namespace": "b", "name": "edge-2"}}]}';;
*/backups) echo 'Error from server (NotFound): the server could not find the requested resource' >&2; exit 1;;
esac
`)
	provisionings, backups, err := cluster.Cluster{Layout: l, Log: &bytes.Buffer{}}.Contents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	destroyRemoval.describe(&out, l, "3f9a1c2e", provisionings, append(backups, "a/edge-1-monday"), nil)
	for _, want := range []string{"the machine 3f9a1c2e in " + l.Root, "2 clusters: a/edge-1, b/edge-2", "1 Backups: a/edge-1-monday", "no key is left that opens them", "keeps: programs, the content of the depot, caches"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
}
