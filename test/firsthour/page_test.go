package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const page = "# Page\n\n```sh\nmake destroy\n```\n\n## One\n\n```console\n$ mkdir -p sub && cd sub\n$ echo a; echo b 12s c >&2\na\nb ...s c\n```\n\n## Two\n\n" +
	"```console\n$ name=edge; basename $PWD\n...\n$ printf '%s\\n' 1 2 3 $name\n1\n...\nedge\n```\n"

func TestRead(t *testing.T) {
	got, err := read(page)
	if err != nil {
		t.Fatal(err)
	}
	want := []command{
		{"One", 10, "mkdir -p sub && cd sub", nil},
		{"One", 11, "echo a; echo b 12s c >&2", []string{"a", "b ...s c"}},
		{"Two", 19, "name=edge; basename $PWD", []string{"..."}},
		{"Two", 21, `printf '%s\n' 1 2 3 $name`, []string{"1", "...", "edge"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(command{})); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"```console\n$ make destroy ID=1\n```":        "is not run",
		"```console\n$ kubectl delete bpa --all\n```": "is not run",
		"```console\n$ rm -rf /srv\n```":              "is not run",
		"```console\nhost-1\n```":                     "before the first command",
		"```console\n$ true\n":                        "does not end",
		"```sh\ntrue\n```":                            "no command",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestPlay: the commands share a shell, and each is compared.
func TestPlay(t *testing.T) {
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	play := func(page string) error {
		commands, err := read(page)
		if err != nil {
			t.Fatal(err)
		}
		out.Reset()
		return play(&out, "page.md", commands)
	}
	if err := play(page); err != nil || !strings.Contains(out.String(), "\nsub\n") {
		t.Errorf("%v\n%s", err, &out)
	}
	for from, to := range map[string]string{
		"b ...s c": "b ...m c", "\na\nb": "\nb", "\nedge\n": "\nedge-1\n", "\n1\n...\n": "\n1\n", "&& cd sub\n": "&& cd sub\nsub\n",
	} {
		if err := play(strings.Replace(page, from, to, 1)); err == nil || !strings.Contains(err.Error(), "prints something else") {
			t.Errorf("%q in place of %q: %v", to, from, err)
		}
	}
	if err := play(strings.Replace(page, "echo a;", "false;", 1) + "```console\n$ (exit 3)\n```\n"); err == nil || !strings.Contains(err.Error(), "page.md:11") {
		t.Errorf("%v", err)
	}
	if err := play("```console\n$ (exit 3)\n$ echo later\nlater\n```\n"); err == nil || !strings.Contains(err.Error(), "exit code 3") || strings.Contains(out.String(), "later") {
		t.Errorf("%v\n%s", err, &out)
	}
	if err := play("```console\n$ exit 4\n```\n"); err == nil || !strings.Contains(err.Error(), "the shell has ended") {
		t.Errorf("%v", err)
	}
}

// TestBegin: the whole page runs only where no machine is, and a part of it only where one is.
func TestBegin(t *testing.T) {
	commands, err := read(page)
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	try := func(from, state, want string, number int) {
		t.Helper()
		got, err := begin(commands, from, state)
		if len(got) != number || want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("from %q in %q: %d commands, %v", from, state, len(got), err)
		}
	}
	try("", state, "", 4)
	try("Two", state, "needs a machine", 0)
	try("", "", "BPA_STATE", 0)
	if err := os.WriteFile(filepath.Join(state, "kubeconfig"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	try("", state, "has a machine", 0)
	try("Two", state, "", 2)
	try("Three", state, `no section "Three"`, 0)
}

// TestFirstHour: the page can be read, from the clone to a workload on a cluster that has grown.
func TestFirstHour(t *testing.T) {
	raw, err := os.ReadFile("../../docs/first-hour.md")
	if err != nil {
		t.Fatal(err)
	}
	commands, err := read(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	for _, want := range []string{"git clone ", "make up", "lab up ", "kubectl bpa create ", "kubectl apply ", "kubectl bpa watch ", "kubectl bpa kubeconfig ", "kubectl bpa scale ", " create deployment "} {
		for next < len(commands) && !strings.Contains(commands[next].text, want) {
			next++
		}
		if next == len(commands) {
			t.Fatalf("the page has no command %q after the others", want)
		}
	}
	if _, err := begin(commands, clusterSection, filepath.Dir(t.TempDir())); err == nil || !strings.Contains(err.Error(), "needs a machine") {
		t.Errorf("%v", err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil || !strings.Contains(string(makefile), `-from "`+clusterSection+`"`) {
		t.Errorf("the Makefile begins at another section than %q: %v", clusterSection, err)
	}
}

// clusterSection is the section from which the page needs a machine.
const clusterSection = "A cluster"
