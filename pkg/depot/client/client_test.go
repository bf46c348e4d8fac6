package client_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

func TestStat(t *testing.T) {
	site := depottest.Start(t)
	to, err := client.Connect(t.Context(), site.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	image, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(to.Repository("kube-proxy").Tag("v1.35.4"), image, to.Remote()...); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	sum := site.Put(t, "dl.k8s.io/kubelet", []byte("kubelet"))
	have, err := to.Stat(t.Context(), artifacts.List{
		Images: []artifacts.Image{
			{Ref: "registry.k8s.io/kube-proxy:v1.35.4"}, {Ref: "registry.k8s.io/kube-proxy@" + digest.String()}, {Ref: "registry.k8s.io/pause:3.10"},
		},
		Files: []artifacts.File{{Path: "dl.k8s.io/kubelet", SHA256: sum}, {Path: "dl.k8s.io/kubeadm"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := artifacts.Have{
		Images: map[artifacts.Place]string{
			{Repository: "kube-proxy", Tag: "v1.35.4"}: digest.String(), {Repository: "kube-proxy", Digest: digest.String()}: digest.String(),
		},
		Files: map[string]artifacts.FileState{"dl.k8s.io/kubelet": {SHA256: sum, Size: 7}}, Packages: map[string]*artifacts.PackageIndex{},
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("Stat (-want +got):\n%s", diff)
	}
}

func TestStatPackages(t *testing.T) {
	site := depottest.Start(t)
	to, err := client.Connect(t.Context(), site.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := artifacts.List{Packages: []artifacts.Package{{Name: "socat", System: "debian-12"}, {Name: "curl", System: "debian-12"}, {Name: "curl", System: "rocky-9.5"}}}
	for _, tc := range []struct {
		index     string // none: no package source
		want      []artifacts.Package
		elsewhere []string
	}{
		{"", nil, []string{"debian-12", "rocky-9.5"}},
		{"Package: socat\nVersion: 1\nFilename: ./socat.deb\nSHA256: " + depottest.Sum(nil) + "\n", list.Packages[1:2], []string{"rocky-9.5"}},
	} {
		if tc.index != "" {
			site.Put(t, artifacts.IndexPath("debian-12"), []byte(tc.index))
		}
		have, err := to.Stat(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		got := artifacts.Compare(list, have)
		if diff := cmp.Diff(artifacts.Missing{List: artifacts.List{Packages: tc.want}, Elsewhere: tc.elsewhere}, got, cmpopts.IgnoreFields(got, "Why", "Of")); diff != "" {
			t.Errorf("with %q (-want +got):\n%s", tc.index, diff)
		}
	}
}

func TestPutFile(t *testing.T) {
	site := depottest.Start(t)
	to, err := client.Connect(t.Context(), site.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const text = "content of a file"
	if err := to.PutFile(t.Context(), "a/b", int64(len(text)), depottest.Sum([]byte(text)), strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if err := to.PutFile(t.Context(), "a/c", 0, "", strings.NewReader("")); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	if state, there, err := to.FileState(t.Context(), "a/b", true); err != nil || !there || state.SHA256 != depottest.Sum([]byte(text)) {
		t.Errorf("FileState = %+v, %t, %v", state, there, err)
	}
	err = to.PutFile(t.Context(), "a/d", int64(len(text)), depottest.Sum(nil), strings.NewReader(text))
	if err == nil || !strings.Contains(err.Error(), "upload file a/d") {
		t.Errorf("with another checksum: %v", err)
	}
	if err := to.PutFile(t.Context(), "../etc/passwd", int64(len(text)), "", strings.NewReader(text)); err == nil {
		t.Error("a path with .. was accepted")
	}
	if _, there, err := to.FileState(t.Context(), "a/d", false); err != nil || there {
		t.Errorf("a refused file is stored: %t, %v", there, err)
	}
}

func TestDeleteArtifact(t *testing.T) {
	site := depottest.Start(t)
	to, err := client.Connect(t.Context(), site.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ref := protocol.Ref{Owner: "site", Cluster: "edge-1", Kind: protocol.BinaryImages, Name: "backup"}
	if err := to.PutFile(t.Context(), ref.FilePath(), 3, "", strings.NewReader("abc")); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"an artifact", "an artifact that is gone"} {
		if err := to.DeleteArtifact(t.Context(), ref); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, there, err := to.FileState(t.Context(), ref.FilePath(), false); err != nil || there {
			t.Errorf("%s: still there: %t, %v", what, there, err)
		}
	}
	ref.Owner = ".."
	if err := to.DeleteArtifact(t.Context(), ref); err == nil {
		t.Error("a bad owner was accepted")
	}
}

// A depot, or a server in its place, cannot make the client connect to another address.
func TestNowhereElse(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the client connected to another server") }))
	defer elsewhere.Close()
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v2/":
		case r.Method == http.MethodPost:
			w.Header().Set("Location", elsewhere.URL+"/upload")
			w.WriteHeader(http.StatusAccepted)
		case strings.Contains(r.URL.Path, "/blobs/"):
			w.WriteHeader(http.StatusNotFound)
		default:
			http.Redirect(w, r, elsewhere.URL+"/other", http.StatusTemporaryRedirect)
		}
	}))
	defer bad.Close()
	t.Setenv("HTTP_PROXY", elsewhere.URL)
	var dialled []string
	to, err := client.Connect(t.Context(), bad.URL, client.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = to.FileState(t.Context(), "a", false)
	if !errors.Is(err, client.ErrElsewhere) {
		t.Errorf("a redirect: %v", err)
	}
	image, err := random.Image(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if err := to.PutBlob(t.Context(), "a/b", "", layers[0]); err == nil {
		t.Error("an upload went to another server")
	}
	for _, address := range dialled {
		if "http://"+address != bad.URL {
			t.Errorf("dialled %s", address)
		}
	}
}

// The client uses TLS and a token, also at an address for which go-containerregistry assumes plain
// HTTP.
func TestTokenAndTLS(t *testing.T) {
	const token = "s3cret"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.Header().Set("WWW-Authenticate", `Basic realm="depot"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	tokenFile := filepath.Join(dir, "token")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(tokenFile, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Connect(t.Context(), server.URL, client.Options{TokenFile: tokenFile}); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("without its CA: %v", err)
	}
	to, err := client.Connect(t.Context(), server.URL, client.Options{TokenFile: tokenFile, CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	if _, there, err := to.FileState(t.Context(), "a", false); err != nil || !there {
		t.Errorf("with token and CA: %t, %v", there, err)
	}
	anonymous, err := client.Connect(t.Context(), server.URL, client.Options{CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := anonymous.FileState(t.Context(), "a", false); err == nil || !strings.Contains(err.Error(), "requires a token") {
		t.Errorf("without a token: %v", err)
	}
}

// The client sends the token to a loopback address without TLS: the listener there requires a
// secret, but has no TLS.
func TestTokenOnThisMachine(t *testing.T) {
	const token = "s3cret"
	got := ""
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
	defer server.Close()
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	here := &net.Dialer{}
	for host, want := range map[string]string{"127.0.0.1": "Bearer " + token, "10.60.0.1": "", "localhost": ""} {
		got = ""
		to, err := client.Connect(t.Context(), "http://"+net.JoinHostPort(host, port), client.Options{TokenFile: tokenFile,
			Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return here.DialContext(ctx, network, server.Listener.Addr().String())
			}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := to.FileState(t.Context(), "a", false); err != nil || got != want {
			t.Errorf("to %s: %q, %v, want %q", host, got, err, want)
		}
	}
}

func TestConnectFails(t *testing.T) {
	for _, url := range []string{"", "10.60.0.1:5000", "ftp://a", "http://a/depot", "http://127.0.0.1:1"} {
		if _, err := client.Connect(t.Context(), url, client.Options{}); err == nil {
			t.Errorf("Connect(%q) returns no error", url)
		}
	}
}
