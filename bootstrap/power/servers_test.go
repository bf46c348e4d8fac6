//go:build integration

package power

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/config"
	"github.com/akraino-icn/bpa/bootstrap/internal/images"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/pki"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

// server is a component of the machine with its data on the disk. It runs with the machine's own arguments, but with
// other addresses.
type server struct {
	component supervisor.Component
	log       string
	process   *exec.Cmd
	address   string
	client    *http.Client
}

func (s *server) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.process = exec.Command(s.component.Args[0], s.component.Args[1:]...)
	s.process.Stdout, s.process.Stderr = log, log
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // also if the test is killed
	if err := s.process.Start(); err != nil {
		t.Fatalf("%v: run `machine build`", err)
	}
	ended := make(chan error, 1)
	go func(p *exec.Cmd) { ended <- p.Wait() }(s.process)
	s.process.Cancel = func() error { // kill, as the cut does
		_ = s.process.Process.Kill()
		return <-ended
	}
	tick, limit := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		if resp, err := http.Get(s.component.Health); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-tick.C:
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended (%v):\n%s", s.component.Name, err, s.tail())
		case <-limit:
			t.Fatalf("%s is not ready after a minute:\n%s", s.component.Name, s.tail())
		}
	}
}

func (s *server) kill() {
	if s.process != nil {
		_ = s.process.Cancel()
		s.process = nil
	}
}

func (s *server) tail() string {
	text, _ := os.ReadFile(s.log)
	return string(text[max(0, len(text)-4000):])
}

// do sends a request and returns the body of the answer, which is an error unless its status is 2xx.
func (s *server) do(method, path string, body []byte, headers map[string]string) ([]byte, error) {
	text, _, err := s.send(method, path, body, headers)
	return text, err
}

func (s *server) send(method, path string, body []byte, headers map[string]string) ([]byte, http.Header, error) {
	req, err := http.NewRequest(method, s.address+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return text, resp.Header, err
}

// store is a server with one way to write and one to read back. write returns nil only if the server acknowledged it.
type store interface {
	write(key string, value []byte) error
	// check returns the keys that are lost or have another value.
	check(t *testing.T, written map[string][]byte) []string
}

func bin(t *testing.T) layout.Layout {
	t.Helper()
	l := layout.FromEnv()
	for _, program := range []string{"etcd", "depot"} {
		if _, err := os.Stat(l.Bin(program)); err != nil {
			t.Fatalf("%v: run `machine build`", err)
		}
	}
	return l
}

// etcd writes and reads by the JSON gateway.
type etcd struct{ *server }

func newEtcd(t *testing.T, d *disk) etcd {
	t.Helper()
	dir, ports := t.TempDir(), freePorts(t, 3)
	keys := filepath.Join(dir, "pki")
	if err := pki.Ensure(keys, pki.Machine{Node: "none", IPs: []string{"127.0.0.1"}, ServiceIP: "10.0.0.1", Server: "https://127.0.0.1:1"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	control := config.ControlPlane{Bin: bin(t).Bin, PKI: keys, Data: filepath.Join(d.at, "data"), EtcdPort: ports[0], EtcdPeer: ports[1], EtcdHealth: ports[2]}
	if err := os.MkdirAll(control.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	component := control.Etcd()
	pair, err := tls.LoadX509KeyPair(filepath.Join(keys, "apiserver-etcd.crt"), filepath.Join(keys, "apiserver-etcd.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(keys, "etcd-ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}, MaxIdleConnsPerHost: 8}}
	e := etcd{&server{component: component, log: filepath.Join(dir, "etcd.log"), address: "https://127.0.0.1:" + ports[0], client: client}}
	t.Cleanup(e.kill)
	return e
}

// pairOf is a key and its value in JSON, in which they are base64.
type pairOf struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value,omitempty"`
}

func (e etcd) write(key string, value []byte) error {
	body, err := json.Marshal(pairOf{Key: []byte(key), Value: value})
	if err != nil {
		return err
	}
	_, err = e.do(http.MethodPost, "/v3/kv/put", body, nil)
	return err
}

func (e etcd) check(t *testing.T, written map[string][]byte) (lost []string) {
	t.Helper()
	text, err := e.do(http.MethodPost, "/v3/kv/range", []byte(`{"key": "AA==", "range_end": "AA=="}`), nil) // all keys
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Kvs []pairOf }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	have := map[string][]byte{}
	for _, kv := range all.Kvs {
		have[string(kv.Key)] = kv.Value
	}
	for key, value := range written {
		if !bytes.Equal(have[key], value) {
			lost = append(lost, "etcd "+key)
		}
	}
	return lost
}

// depot writes below /files, as an upload of a cluster (as Backups are), or as a blob of an image: the first part of the
// key says which.
type depot struct {
	*server
	root string
}

func newDepot(t *testing.T, d *disk) *depot {
	t.Helper()
	dir, ports, l := t.TempDir(), freePorts(t, 2), bin(t)
	components := config.Plan(l).Components
	component := components[slices.IndexFunc(components, func(c supervisor.Component) bool { return c.Name == "depot" })]
	root := filepath.Join(d.at, "depot")
	component.Args = []string{component.Args[0], "--root=" + root, "--local-listen=127.0.0.1:" + ports[0], "--probe-listen=127.0.0.1:" + ports[1]}
	component.Health = "http://127.0.0.1:" + ports[1] + "/readyz"
	s := &server{component: component, log: filepath.Join(dir, "depot.log"), address: "http://127.0.0.1:" + ports[0], client: &http.Client{Timeout: 30 * time.Second}}
	t.Cleanup(s.kill)
	return &depot{server: s, root: root}
}

const uploads = "/v1/baremetalcluster/owner/cluster/binary_images/"

func (d *depot) write(key string, value []byte) error {
	login, err := images.Login(filepath.Join(d.root, "local-token"))
	if err != nil {
		return err
	}
	auth := map[string]string{"Authorization": "Bearer " + login.Password}
	switch kind, name, _ := strings.Cut(key, "/"); kind {
	case "files":
		_, err = d.do(http.MethodPut, "/files/"+name, value, auth)
	case "upload":
		auth["X-Checksum-Sha256"] = fmt.Sprintf("%x", sha256.Sum256(value))
		_, err = d.do(http.MethodPut, uploads+name+"/content", value, auth)
	default:
		_, header, err := d.send(http.MethodPost, "/v2/image/blobs/uploads/", nil, auth)
		if err != nil {
			return err
		}
		auth["Content-Type"] = "application/octet-stream"
		_, err = d.do(http.MethodPut, strings.TrimPrefix(header.Get("Location"), d.address)+"&digest="+digest(value), value, auth)
		return err
	}
	return err
}

func (d *depot) check(t *testing.T, written map[string][]byte) (lost []string) {
	t.Helper()
	for key, value := range written {
		kind, name, _ := strings.Cut(key, "/")
		path := map[string]string{"files": "/files/" + name, "upload": uploads + name + "/content", "blob": "/v2/image/blobs/" + digest(value)}[kind]
		if have, err := d.do(http.MethodGet, path, nil, nil); err != nil || !bytes.Equal(have, value) {
			lost = append(lost, fmt.Sprintf("depot %s: %d of %d bytes (%v)", key, len(have), len(value), err))
		}
	}
	return lost
}

func digest(value []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(value)) }

// freePorts returns n free ports of loopback.
func freePorts(t *testing.T, n int) (ports []string) {
	t.Helper()
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, port)
	}
	return ports
}

func random(n int) []byte {
	value := make([]byte, n)
	_, _ = rand.Read(value) // never fails
	return value
}
