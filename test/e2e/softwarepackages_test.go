//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/test/site"
)

// Packages of TestSoftware, and what they write on a machine.
const (
	driver       = "bpa-e2e-driver"
	driverMarker = "/etc/bpa-e2e-driver.installed"
	tool         = "bpa-e2e-tool"
	toolConfig   = "/etc/bpa-e2e-tool.conf"
	// noPackage is in no depot.
	noPackage = "bpa-e2e-nowhere"
	// driverTrouble is the last line of a driver that cannot be installed.
	driverTrouble = "bpa-e2e-driver: there are no headers for this kernel"
)

// uploads puts binary packages into the depot, as root of the bootstrap machine does.
type uploads struct {
	t     *testing.T
	token string
	owner string
}

func newUploads(t *testing.T, owner string) *uploads {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(site.State(), "depot", "local-token"))
	if err != nil {
		t.Fatal(err)
	}
	return &uploads{t, strings.TrimSpace(string(token)), owner}
}

// put uploads a package for one cluster of the owner, or for protocol.ClusterAll, and deletes it when the test
// ends.
func (u *uploads) put(cluster, name string, content []byte) {
	u.t.Helper()
	if status, body := u.call(http.MethodPut, cluster+"/binary_images/"+name+"/content", content); status >= http.StatusMultipleChoices {
		u.t.Fatalf("upload %s: status %d: %s", name, status, body)
	}
	u.t.Cleanup(func() { u.remove(cluster, name) })
}

// remove deletes an upload, which may be gone already.
func (u *uploads) remove(cluster, name string) {
	u.t.Helper()
	if status, body := u.call(http.MethodDelete, cluster+"/binary_images/"+name, nil); status >= http.StatusMultipleChoices && status != http.StatusNotFound {
		u.t.Errorf("delete %s: status %d: %s", name, status, body)
	}
}

// call calls the depot below the path of the owner.
func (u *uploads) call(method, path string, content []byte) (int, string) {
	u.t.Helper()
	url := "http://127.0.0.1:5000/v1/baremetalcluster/" + u.owner + "/" + path
	request, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(content))
	if err != nil {
		u.t.Fatal(err)
	}
	request.SetBasicAuth("e2e", u.token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		u.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		u.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// putDriver uploads a driver for one cluster. It uses the files of its archive by paths without a folder, and
// writes its version and the one before it to its marker.
func (u *uploads) putDriver(cluster, version string) {
	u.t.Helper()
	install := "#!/bin/sh\nset -eu\necho \"$(cat version) after ${PREVIOUS_VERSION:-nothing}\" >" + driverMarker + "\n"
	u.put(cluster, driverFile(version), driverArchive(u.t, version, install))
}

// putBrokenDriver uploads a driver that cannot be installed.
func (u *uploads) putBrokenDriver(cluster, version string) {
	u.t.Helper()
	install := "#!/bin/sh\necho looking for the kernel\necho '" + driverTrouble + "' >&2\nexit 3\n"
	u.put(cluster, driverFile(version), driverArchive(u.t, version, install))
}

func driverFile(version string) string { return driver + "-" + version + ".tar.gz" }

// driverArchive always has the same bytes, so that the same upload of an earlier test does no harm.
func driverArchive(t *testing.T, version, install string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	archive := tar.NewWriter(zip)
	for _, f := range []struct {
		name, text string
		mode       int64
	}{
		{"version", version + "\n", 0o644},
		{"install.sh", install, 0o755},
		{"uninstall.sh", "#!/bin/sh\nrm -f " + driverMarker + "\n", 0o755},
	} {
		if err := archive.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(f.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// putTool uploads a Debian package for all clusters of the owner. Each version has another default
// configuration, which dpkg would ask about.
func (u *uploads) putTool(version string) {
	u.t.Helper()
	u.put(protocol.ClusterAll, toolFile(version), toolPackage(u.t, version))
}

func toolFile(version string) string { return tool + "_" + version + "_all.deb" }

// toolPackage builds a package with dpkg-deb.
func toolPackage(t *testing.T, version string) []byte {
	t.Helper()
	dir := t.TempDir()
	tree, file := filepath.Join(dir, "tree"), filepath.Join(dir, "package.deb")
	for path, text := range map[string]string{
		"DEBIAN/control":   "Package: " + tool + "\nVersion: " + version + "\nArchitecture: all\nMaintainer: Nobody <nobody@example.org>\nDescription: nothing\n",
		"DEBIAN/conffiles": toolConfig + "\n",
		toolConfig:         "version = " + version + "\n",
	} {
		path = filepath.Join(tree, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "dpkg-deb", "--root-owner-group", "-b", tree, file)
	build.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000") // the same bytes in each test
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("dpkg-deb: %v\n%s", err, out)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
