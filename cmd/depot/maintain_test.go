package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/opencontainers/go-digest"
)

// command runs the depot's binary until it ends.
func command(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asDepot+"=1")
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

func TestStoreIsScrubbedAndCollected(t *testing.T) {
	root := t.TempDir()
	p := start(t, root)
	img, err := random.Image(1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag(t, p), img); err != nil {
		t.Fatal(err)
	}
	if out, code := command(t, "gc", "--root="+root); code != exitFailed || !strings.Contains(out, "in use") {
		t.Errorf("gc beside a depot = %d %s, want to be refused", code, out)
	}
	if out, code := command(t, "scrub", "--root="+root); code != 0 || !strings.Contains(out, "0 damaged") {
		t.Errorf("scrub = %d %s", code, out)
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	if out, code := command(t, "gc", "--root="+root); code != 0 || !strings.Contains(out, "freed 0 manifests and 0 blobs") {
		t.Errorf("gc = %d %s", code, out)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	d, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	blob := filepath.Join(root, "registry/docker/registry/v2/blobs/sha256", d.Hex[:2], d.Hex, "data")
	if err := os.WriteFile(blob, []byte("flipped"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := command(t, "scrub", "--root="+root, "--set-aside"); code != exitDamage || !strings.Contains(out, "needed by image app:v1") {
		t.Errorf("scrub of a damaged store = %d %s", code, out)
	}
	if err := remote.Write(tag(t, start(t, root)), img); err != nil {
		t.Fatal(err)
	}
	if out, code := command(t, "scrub", "--root="+root); code != 0 {
		t.Errorf("after the image was pushed again: %d %s", code, out)
	}
}

// Set-aside removes a damaged file from the store. A client that first asks for the file's checksum
// then uploads the file again.
func TestDamagedFileIsSetAside(t *testing.T) {
	root := t.TempDir()
	const name = "dl.k8s.io/kubelet"
	p := start(t, root)
	if err := ask(t.Context(), "PUT", "http://"+p.address+"/files/"+name, strings.NewReader("content"), 201); err != nil {
		t.Fatal(err)
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	note := filepath.Join(root, "digests", name+".digest.json")
	body, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	sum := digest.FromString("content").Encoded()
	was := digest.FromString("what it was before a bit flipped").Encoded()
	if err := os.WriteFile(note, []byte(strings.Replace(string(body), sum, was, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := command(t, "scrub", "--root="+root); code != exitDamage || !strings.Contains(out, "file "+name) || !strings.Contains(out, "--set-aside") {
		t.Errorf("scrub = %d %s, want the file's name and the next step", code, out)
	}
	if out, code := command(t, "scrub", "--root="+root, "--set-aside"); code != exitDamage || !strings.Contains(out, "file "+name) {
		t.Errorf("scrub --set-aside = %d %s", code, out)
	}
	aside, err := os.ReadFile(filepath.Join(root, "damaged", name))
	if err != nil || string(aside) != "content" {
		t.Errorf("set aside is %q, %v", aside, err)
	}
	p = start(t, root)
	if err := ask(t.Context(), "HEAD", "http://"+p.address+"/files/"+name, strings.NewReader(""), 404); err != nil {
		t.Fatal(err)
	}
	if err := ask(t.Context(), "PUT", "http://"+p.address+"/files/"+name, strings.NewReader("content"), 201); err != nil {
		t.Fatal(err)
	}
	if out, code := command(t, "scrub", "--root="+root); code != 0 {
		t.Errorf("after it was uploaded again: %d %s", code, out)
	}
}

func TestKeepListTakesReferences(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keep")
	d := "sha256:" + strings.Repeat("a", 64)
	if err := os.WriteFile(file, []byte("10.60.0.1:5000/app@"+d+"\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keep, err := keeper(file)
	if err != nil {
		t.Fatal(err)
	}
	if !keep.Keep("app", digest.Digest(d)) || keep.Keep("app", "sha256:other") {
		t.Error("want only the listed digest to be kept")
	}
	if err := os.WriteFile(file, []byte("app:v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keeper(file); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a line without a digest: %v", err)
	}
	if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keeper(file); err == nil || !strings.Contains(err.Error(), "images-in-use") {
		t.Errorf("an empty list: %v, want an error that says how to make one", err)
	}
}
