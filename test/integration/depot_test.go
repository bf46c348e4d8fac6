//go:build integration

package integration

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	fillers  = "fillers" // namespace of the accounts that write to the depot; also the name of an owner of artifacts
	audience = "depot.bpa.akraino.org"
)

// reader is a role that permits only to read the installation status. It is a manifest, because
// kubectl create cannot create a role for kinds that do not exist.
const reader = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [depot.bpa.akraino.org], resources: [artifacts/status], verbs: [get]}
`

// depot is a running cmd/depot with the permissions in config/. The tests use it with crane, which
// is a program of another project.
type depot struct {
	tls, plain string    // addresses of the listeners, host:port
	crane      string    // path of the program
	ca         string    // path of the depot's CA certificate
	api        *apiProxy // proxy between the depot and the API server
}

// TestDepotAsksKubernetes checks that a real API server authenticates and authorizes the requests
// of a real client to the depot.
func TestDepotAsksKubernetes(t *testing.T) {
	for _, args := range [][]string{{"apply", "-n", "bpa-system", "-f", "../../config/200-depot.yaml"}, {"create", "namespace", fillers}} {
		must(t, "", args...)
	}
	for _, account := range []string{"nobody", "writer", "owner", "leaver", "reader", "seeder", "maintainer"} {
		must(t, "", "create", "serviceaccount", "-n", fillers, account)
	}
	for _, account := range []string{"writer", "leaver"} {
		must(t, "", "create", "clusterrolebinding", account, "--clusterrole=bpa-depot-writer", "--serviceaccount="+fillers+":"+account)
	}
	must(t, "", "create", "clusterrolebinding", "seeder", "--clusterrole=bpa-depot-seeder", "--serviceaccount="+fillers+":seeder")
	must(t, "", "create", "clusterrolebinding", "maintainer", "--clusterrole=bpa-depot-maintainer", "--serviceaccount="+fillers+":maintainer")
	must(t, reader, "apply", "-f", "-")
	must(t, "", "create", "rolebinding", "-n", fillers, "reader", "--clusterrole=reader", "--serviceaccount="+fillers+":reader")
	must(t, "", "create", "rolebinding", "-n", fillers, "owner", "--clusterrole=bpa-depot-writer", "--serviceaccount="+fillers+":owner")
	d := startDepot(t)

	t.Run("a writer logs in and pushes and pulls", func(t *testing.T) { d.pushAndPull(t, tokenFor(t, "writer")) })
	t.Run("an anonymous client reads", func(t *testing.T) {
		if out, err := d.run(t, t.TempDir(), "manifest", d.tls+"/app:v1"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("a refused push names the command that allows it", d.refusalNamesCommand)
	t.Run("a seeder adds and never replaces", d.seederAddsOnly)
	t.Run("a maintainer frees space and writes nothing", d.maintainerFreesOnly)
	t.Run("bad tokens", d.badTokens)
	t.Run("an owner writes only in its namespace", d.ownersAreSeparate)
	t.Run("a removed permission ends within seconds", d.permissionEnds)
	t.Run("the API server is unreachable and comes back", d.apiServerGone)
}

// TestDepotManifestsAreAccepted checks that a real API server accepts the depot's manifests, in the
// namespace that admits only restricted pods.
func TestDepotManifestsAreAccepted(t *testing.T) {
	out := must(t, "", "apply", "-n", "bpa-system", "--dry-run=server", "-f", "../../config/200-depot.yaml", "-f", "../../config/400-depot-service.yaml", "-f", "../../config/depot.yaml")
	if strings.Contains(out, "Warning") || !strings.Contains(out, "deployment.apps/bpa-depot") {
		t.Error(out)
	}
}

// tokenFor returns a token of an account, from kubectl create token. Without flags, the audience of
// the token is the depot.
func tokenFor(t *testing.T, account string, flags ...string) string {
	t.Helper()
	if len(flags) == 0 {
		flags = []string{"--audience=" + audience}
	}
	return strings.TrimSpace(must(t, "", append([]string{"create", "token", account, "-n", fillers}, flags...)...))
}

func (d *depot) pushAndPull(t *testing.T, token string) {
	home := d.login(t, token)
	archive := filepath.Join(t.TempDir(), "image.tar")
	image, err := random.Image(1<<20, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := crane.Save(image, "app:v1", archive); err != nil {
		t.Fatal(err)
	}
	if out, err := d.run(t, home, "push", archive, d.tls+"/app:v1"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := d.run(t, home, "validate", "--remote", d.tls+"/app:v1"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := d.run(t, t.TempDir(), "push", archive, d.tls+"/app:v2"); err == nil || !strings.Contains(out, "kubectl create token") {
		t.Errorf("a push without a login: %v\n%s", err, out)
	}
	if out, err := d.run(t, home, "push", archive, d.plain+"/app:v2"); err == nil || !strings.Contains(out, "for reading only") {
		t.Errorf("a push without TLS: %v\n%s", err, out)
	}
}

// refusalNamesCommand runs the command in a refusal, as an administrator does, and checks that the
// write is then allowed.
func (d *depot) refusalNamesCommand(t *testing.T) {
	token := tokenFor(t, "nobody")
	put := func() (int, string) { return d.ask(t, http.MethodPut, "/v2/cured/manifests/v1", token) }
	status, text := put()
	if status != http.StatusForbidden {
		t.Fatalf("%d %s", status, text)
	}
	var refusal struct{ Errors []struct{ Message string } }
	if err := json.Unmarshal([]byte(text), &refusal); err != nil || len(refusal.Errors) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	_, command, ok := strings.Cut(refusal.Errors[0].Message, "To allow it: kubectl ")
	if !ok || !strings.Contains(text, "system:serviceaccount:"+fillers+":nobody may not create images") {
		t.Fatalf("no command in %s", text)
	}
	must(t, "", strings.Fields(command)...)
	within(t, 30*time.Second, "the new permission is in force", func() bool { status, text = put(); return status != http.StatusForbidden })
	if status != http.StatusBadRequest { // the registry rejects the empty manifest
		t.Errorf("with the permission: %d %s, want 400", status, text)
	}
}

// seederAddsOnly checks that a seeder can push an image index to a new tag, and that it can neither
// replace nor delete a tag.
func (d *depot) maintainerFreesOnly(t *testing.T) {
	maintainer, seeder := tokenFor(t, "maintainer"), tokenFor(t, "seeder")
	for _, c := range []struct {
		method, path, token string
		status              int
	}{
		{http.MethodGet, "/v1/usage", maintainer, http.StatusOK},
		{http.MethodPost, "/v1/gc?dry-run=true", maintainer, http.StatusAccepted},
		{http.MethodGet, "/v1/gc", maintainer, http.StatusOK},
		{http.MethodPost, "/v1/gc?unlisted-images=true", maintainer, http.StatusForbidden},
		{http.MethodDelete, "/files/a", maintainer, http.StatusForbidden},
		{http.MethodGet, "/v1/usage", seeder, http.StatusForbidden},
		{http.MethodPost, "/v1/gc", seeder, http.StatusForbidden},
		{http.MethodDelete, "/files/a", seeder, http.StatusForbidden},
		{http.MethodGet, "/v1/usage", "", http.StatusUnauthorized},
	} {
		if status, text := d.ask(t, c.method, c.path, c.token); status != c.status {
			t.Errorf("%s %s = %d %s, want %d", c.method, c.path, status, text, c.status)
		}
	}
}

func (d *depot) seederAddsOnly(t *testing.T) {
	token, dir := tokenFor(t, "seeder"), t.TempDir()
	home := d.login(t, token)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		image, err := random.Image(1000, 2)
		if err == nil {
			err = path.AppendImage(image)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := d.run(t, home, "push", "--index", dir, d.tls+"/seeded:v1"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := d.run(t, home, "validate", "--remote", d.tls+"/seeded:v1"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if status, text := d.ask(t, http.MethodPut, "/v2/seeded/manifests/v1", token); status != http.StatusForbidden {
		t.Errorf("replace an index: %d %s, want 403", status, text)
	}
	for name, args := range map[string][]string{"replace": {"push", "--index", dir, d.tls + "/app:v1"}, "remove": {"delete", d.tls + "/seeded:v1"}} {
		if out, err := d.run(t, home, args...); err == nil || !strings.Contains(out, ":seeder may not ") || !strings.Contains(out, "--clusterrole=bpa-depot-writer") {
			t.Errorf("%s: %v; want it refused\n%s", name, err, out)
		}
	}
}

// badTokens checks that the depot refuses each kind of bad token, with a message that names the
// reason.
func (d *depot) badTokens(t *testing.T) {
	left := tokenFor(t, "leaver")
	must(t, "", "delete", "serviceaccount", "-n", fillers, "leaver")
	for name, c := range map[string]struct{ token, want string }{
		"none":             {"", "log in with any user name and the token as the password"},
		"nonsense":         {"nonsense", "the token is refused"},
		"expired":          {expiredToken(t), "expired"},
		"another audience": {tokenFor(t, "writer", "--audience=https://elsewhere.example"), "https://elsewhere.example"},
		"the API server's": {tokenFor(t, "writer", "--duration=1h"), "audience"},
		"account deleted":  {left, "the token is refused"},
	} {
		status, text := d.ask(t, http.MethodPut, "/files/a", c.token)
		if status != http.StatusUnauthorized || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s; want 401 with %q", name, status, text, c.want)
		}
	}
	home := t.TempDir()
	if out, err := d.run(t, home, "auth", "login", d.tls, "-u", "any", "-p", expiredToken(t)); err != nil {
		t.Fatalf("%v\n%s", err, out) // the login does not check the password, it only stores it
	}
	if out, err := d.run(t, home, "manifest", d.tls+"/app:v1"); err == nil || !strings.Contains(out, "expired") {
		t.Errorf("crane with an expired token: %v\n%s", err, out)
	}
}

// expiredToken returns a token that was valid for ten minutes and became valid an hour ago. The
// test signs it with the key of the API server.
func expiredToken(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(shared.dir, "apiserver", "pki", "sa.key"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(raw)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	// The header is copied from a valid token, because it contains the key ID.
	header, claims, _ := strings.Cut(tokenFor(t, "writer"), ".")
	claims, _, _ = strings.Cut(claims, ".")
	plain, err := base64.RawURLEncoding.DecodeString(claims)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(plain, &body); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-time.Hour)
	body["iat"], body["nbf"], body["exp"] = then.Unix(), then.Unix(), then.Add(10*time.Minute).Unix()
	if plain, err = json.Marshal(body); err != nil {
		t.Fatal(err)
	}
	signed := header + "." + base64.RawURLEncoding.EncodeToString(plain)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

// ownersAreSeparate checks that a role in a namespace permits writes to the artifacts of that owner
// only, and not to shared content.
func (d *depot) ownersAreSeparate(t *testing.T) {
	tokens := map[string]string{"owner": tokenFor(t, "owner"), "reader": tokenFor(t, "reader")}
	const tail, status = "/edge-1/os_images/absent", "/edge-1/status/node-1"
	for _, c := range []struct {
		account, method, path string
		denied                bool
	}{
		{"owner", http.MethodDelete, "/v1/baremetalcluster/" + fillers + tail, false},
		{"owner", http.MethodGet, "/v1/baremetalcluster/" + fillers + status, false},
		{"owner", http.MethodGet, "/v1/baremetalcluster/somebody-else" + status, true},
		{"owner", http.MethodDelete, "/v1/baremetalcluster/somebody-else" + tail, true},
		{"owner", http.MethodDelete, "/v1/baremetalcluster/Not.A.Namespace" + tail, true},
		{"owner", http.MethodDelete, "/v1/baremetalcluster/" + fillers + "/edge-1/container_images/absent", true},
		{"owner", http.MethodPut, "/v2/app/manifests/v1", true},
		{"owner", http.MethodPut, "/files/a", true},
		{"reader", http.MethodGet, "/v1/baremetalcluster/" + fillers + status, false},
		{"reader", http.MethodDelete, "/v1/baremetalcluster/" + fillers + tail, true},
	} {
		status, text := d.ask(t, c.method, c.path, tokens[c.account])
		if denied := status == http.StatusForbidden; denied != c.denied || status == http.StatusUnauthorized || status == http.StatusServiceUnavailable {
			t.Errorf("%s: %s %s: %d %s; want denied: %t", c.account, c.method, c.path, status, text, c.denied)
		}
	}
}

// permissionEnds checks that the depot refuses writes soon after a role binding is deleted.
func (d *depot) permissionEnds(t *testing.T) {
	must(t, "", "create", "serviceaccount", "-n", fillers, "briefly")
	must(t, "", "create", "clusterrolebinding", "briefly", "--clusterrole=bpa-depot-writer", "--serviceaccount="+fillers+":briefly")
	token := tokenFor(t, "briefly")
	denied := func() bool {
		status, _ := d.ask(t, http.MethodPut, "/v2/brief/manifests/v1", token)
		return status == http.StatusForbidden
	}
	within(t, 30*time.Second, "the permission is in force", func() bool { return !denied() })
	must(t, "", "delete", "clusterrolebinding", "briefly")
	within(t, 30*time.Second, "the permission has ended", denied)
}

// apiServerGone checks that writes are refused while the API server is unreachable, but reads
// succeed. When the API server is reachable again, writes must be authorized again.
func (d *depot) apiServerGone(t *testing.T) {
	home, token := d.login(t, tokenFor(t, "writer")), tokenFor(t, "writer")
	d.api.close()
	defer d.api.open(t)
	status, text := d.ask(t, http.MethodPut, "/files/a", token)
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "cannot reach the Kubernetes API server") {
		t.Errorf("write: %d %s", status, text)
	}
	for name, home := range map[string]string{"anonymous": t.TempDir(), "a writer": home} {
		if out, err := d.run(t, home, "manifest", d.tls+"/app:v1"); err != nil {
			t.Errorf("read as %s: %v\n%s", name, err, out)
		}
	}
	d.api.open(t)
	within(t, 30*time.Second, "writes are authorized again", func() bool {
		status, text = d.ask(t, http.MethodPut, "/files/a", token)
		return status != http.StatusServiceUnavailable
	})
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		t.Errorf("write after the API server is back: %d %s, want it allowed", status, text)
	}
}

// startDepot builds the depot, and starts it with the permissions of its service account in
// config/.
func startDepot(t *testing.T) *depot {
	t.Helper()
	dir := t.TempDir()
	d := &depot{crane: filepath.Join(dir, "crane"), ca: filepath.Join(dir, "root", "tls", "ca.crt")}
	program := filepath.Join(dir, "depot")
	for path, source := range map[string]string{program: "../../cmd/depot", d.crane: "github.com/google/go-containerregistry/cmd/crane"} {
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, source).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", source, err, out)
		}
	}
	config, err := clientcmd.LoadFromFile(shared.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:bpa-system:bpa-depot"
	}
	for _, cluster := range config.Clusters {
		d.api = newAPIProxy(t, cluster.Server)
		cluster.Server = "https://" + d.api.address
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--root="+filepath.Join(dir, "root"), "--tls-listen=127.0.0.1:0", "--listen=127.0.0.1:0", "--kubeconfig="+kubeconfig)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	d.awaitListeners(t, log)
	return d
}

// awaitListeners reads the addresses of the listeners from the depot's log.
func (d *depot) awaitListeners(t *testing.T, log io.Reader) {
	t.Helper()
	lines := bufio.NewScanner(log)
	for d.tls == "" || d.plain == "" {
		if !lines.Scan() {
			t.Fatal("the depot exited before all listeners were ready")
		}
		var entry struct{ Msg, Listener, Address string }
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		switch entry.Listener {
		case "tls":
			d.tls = entry.Address
		case "plain":
			d.plain = entry.Address
		}
	}
	go io.Copy(io.Discard, log) //nolint:errcheck // drains the pipe, so that the depot never blocks
}

// login logs in with crane and returns the folder in which crane stores the token.
func (d *depot) login(t *testing.T, token string) (home string) {
	t.Helper()
	home = t.TempDir()
	if out, err := d.run(t, home, "auth", "login", d.tls, "-u", "any", "-p", token); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return home
}

func (d *depot) run(t *testing.T, home string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.crane, args...)
	cmd.Env = append(os.Environ(), "DOCKER_CONFIG="+home, "SSL_CERT_FILE="+d.ca, "SSL_CERT_DIR="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("crane %s: %w", args[0], err)
	}
	return string(out), err
}

// ask sends a request without a body over TLS and returns the status and the body of the answer.
func (d *depot) ask(t *testing.T, method, path, token string) (status int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	args := []string{"--silent", "--show-error", "--cacert", d.ca, "--request", method, "--write-out", "\n%{http_code}", "https://" + d.tls + path}
	if token != "" {
		args = append(args, "--header", "Authorization: Bearer "+token)
	}
	out, err := exec.CommandContext(ctx, "curl", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("curl %s %s: %v\n%s", method, path, err, out)
	}
	cut := strings.LastIndexByte(string(out), '\n')
	if _, err := fmt.Sscan(string(out[cut+1:]), &status); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return status, string(out[:cut])
}

// within polls until cond is true. It fails the test after limit.
func within(t *testing.T, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	timeout, tick := time.After(limit), time.NewTicker(200*time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("timeout after %s: waiting until %s", limit, what)
		}
	}
}

// apiProxy is a TCP proxy in front of the API server that can be closed and opened again.
type apiProxy struct {
	address, target string
	mu              sync.Mutex
	listener        net.Listener
	conns           []net.Conn
}

func newAPIProxy(t *testing.T, server string) *apiProxy {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	p := &apiProxy{address: "127.0.0.1:0", target: u.Host}
	p.open(t)
	t.Cleanup(p.close)
	return p
}

func (p *apiProxy) open(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return
	}
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	p.listener, p.address = listener, listener.Addr().String()
	go p.serve(listener)
}

func (p *apiProxy) serve(listener net.Listener) {
	for {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		go func() { _, _ = io.Copy(in, out); in.Close() }()
		go func() { _, _ = io.Copy(out, in); out.Close() }()
	}
}

func (p *apiProxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return
	}
	p.listener.Close()
	for _, c := range p.conns {
		c.Close()
	}
	p.listener, p.conns = nil, nil
}
