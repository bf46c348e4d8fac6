//go:build integration

package cluster

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/pki"
)

// TestSecretsAreEncrypted: the disk of etcd holds no Secret in clear text, and the audit log says who read one without what is in it.
func TestSecretsAreEncrypted(t *testing.T) {
	state := layout.Layout{Root: t.TempDir()}
	keys := filepath.Join(state.PKI(), pki.Encryption)
	c := Cluster{Layout: state, Log: t.Output()}
	do := func(args ...string) string {
		t.Helper()
		out, err := c.kubectl(t.Context(), time.Minute, nil, args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}

	stop := serveAPI(t, state)
	do("create", "secret", "generic", "new", "--from-literal=password=text-of-new")
	do("create", "configmap", "open", "--from-literal=password=text-of-open")
	do("get", "secret", "new", "--as=eve", "--as-group=system:masters")
	for text, want := range map[string]bool{"text-of-open": true, "text-of-new": false} {
		if found := onDisk(t, state.Data(), text); found != want {
			t.Errorf("the data of etcd contains %s: %t, want %t", text, found, want)
		}
	}
	audit, err := os.ReadFile(state.Log("audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(audit, []byte("text-of-")) || bytes.Contains(audit, []byte("dGV4dC1vZi")) { // in base64
		t.Error("the audit log contains what a Secret or a ConfigMap holds")
	}
	if !logged(audit, `"verb":"get"`, `"username":"eve"`, `"resource":"secrets","namespace":"default","name":"new"`) || !logged(audit, `"verb":"create"`, `"name":"open"`) {
		t.Error("the audit log does not say who read the Secret, or who created the ConfigMap")
	}
	stop()

	config, err := os.ReadFile(keys)
	if err != nil {
		t.Fatal(err)
	}
	config = []byte(strings.Replace(string(config), "  - identity: {}\n", "", 1)) // now a Secret in clear text cannot be read
	if err := os.WriteFile(keys, config, 0o600); err != nil {
		t.Fatal(err)
	}
	serveAPI(t, state)
	if do("get", "secret", "new", "-o", "jsonpath={.data.password}") == "" {
		t.Error("the Secret has no content any more")
	}
}

// logged reports whether one line of the log has all parts.
func logged(log []byte, parts ...string) bool {
	for line := range strings.Lines(string(log)) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return true
		}
	}
	return false
}

// onDisk reports whether a file below the folder contains the text.
func onDisk(t *testing.T, dir, text string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		found = found || bytes.Contains(raw, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
