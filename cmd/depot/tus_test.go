//go:build integration

package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTusClientResumesAfterAKill uploads with tus-js-client from npm and kills the depot after some
// pieces were acknowledged. The client then continues with another depot on the same store. The
// test needs Node.js and npm.
func TestTusClientResumesAfterAKill(t *testing.T) {
	dir := tusClient(t)
	content := make([]byte, 24<<20)
	for i := range content {
		content[i] = byte(i * i >> 7)
	}
	file := filepath.Join(t.TempDir(), "tus.img")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	first := start(t, root)
	const kind = "/v1/baremetalcluster/o/c/os_images"
	lines, wait := runTus(t, dir, file, "http://"+first.address+kind)
	var url string
	for line := range lines {
		if rest, ok := strings.CutPrefix(line, "url "); ok {
			url = rest
		}
		if strings.HasPrefix(line, "at 4194304") {
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := wait(); err == nil || url == "" {
		t.Fatalf("the client ended with %v and upload %q, want an error and a URL to go on with", err, url)
	}
	_ = first.Wait()

	second := start(t, root)
	_, path, _ := strings.Cut(url, first.address)
	lines, wait = runTus(t, dir, file, "http://"+second.address+kind, "http://"+second.address+path)
	resumed := ""
	for line := range lines {
		if resumed == "" && strings.HasPrefix(line, "at ") {
			resumed = line
		}
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	var at int
	if _, err := fmt.Sscanf(resumed, "at %d", &at); err != nil || at <= 4<<20 {
		t.Errorf("the first piece after the kill ended %q, want beyond what was acknowledged", resumed)
	}
	sum, status := fetch(t, "http://"+second.address+kind+"/tus.img/content")
	if want := fmt.Sprintf("%x", sha256.Sum256(content)); status != http.StatusOK || sum != want {
		t.Errorf("content = %d with sha256 %s, want %s", status, sum, want)
	}
}

// tusClient installs the client from the package registry that npm is configured for.
func tusClient(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/tus")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	return dir
}

func runTus(t *testing.T, dir string, args ...string) (lines func(yield func(string) bool), wait func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	node := exec.CommandContext(ctx, "node", append([]string{"upload.js"}, args...)...)
	node.Dir = dir
	node.Stderr = os.Stderr
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(out)
	return func(yield func(string) bool) {
		for scanner.Scan() && yield(scanner.Text()) {
		}
	}, node.Wait
}
