package look

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/health"
	"github.com/akraino-icn/bpa/pkg/health/healthtest"
	"github.com/akraino-icn/bpa/pkg/nodemeta"
)

var expires = time.Now().Add(24 * time.Hour).UTC().Truncate(time.Second)

var expected = []string{"w-1", "w-2", "w-9"}

type fixture struct {
	authority *healthtest.Authority
	server    *healthtest.Server
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	a := healthtest.NewAuthority(t)
	s := healthtest.Start(t, a, "127.0.0.1:0", a.Certificate(t, expires))
	bad := healthtest.Node("w-2", "KubeletNotReady")
	bad.Spec.Unschedulable = true
	s.SetNodes([]corev1.Node{healthtest.Node("w-1", ""), bad}, time.Date(2026, 11, 22, 9, 0, 0, 123000, time.UTC))
	return fixture{a, s}
}

func (f fixture) client(t *testing.T, addresses ...string) *Client {
	t.Helper()
	c, err := New(f.authority.Kubeconfig(f.server.URL), addresses)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func seen() health.Observation {
	return health.Observation{
		Nodes: map[string]health.Node{
			"w-1": {Ready: true, Version: "1.35.4"},
			"w-2": {Reason: "KubeletNotReady: container runtime network not ready", Version: "1.35.4", Unschedulable: true},
		},
		Leases:     map[string]string{"w-1": "2026-11-22T09:00:00.000123Z", "w-2": "2026-11-22T09:00:00.000123Z"},
		LeaseTimes: map[string]time.Duration{"w-1": 40 * time.Second, "w-2": 40 * time.Second},
		NotAfter:   expires,
	}
}

// TestLook: one look is three requests, and the next look uses the same connection.
func TestLook(t *testing.T) {
	f := newFixture(t)
	c := f.client(t)
	for range 3 {
		if diff := cmp.Diff(seen(), c.Look(t.Context(), expected)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	if requests, connections := f.server.Requests.Load(), f.server.Connections.Load(); requests != 9 || connections != 1 {
		t.Errorf("%d requests over %d connections", requests, connections)
	}
	// The API server is restarted: the kept connection is dead.
	f.server.Stop()
	healthtest.Start(t, f.authority, f.at(t).Host, f.authority.Certificate(t, expires))
	if o := c.Look(t.Context(), expected); o.Silent != "" || len(o.Nodes) != 0 {
		t.Errorf("after a restart: %+v", o)
	}
}

func (f fixture) at(t *testing.T) *url.URL {
	t.Helper()
	u, err := url.Parse(f.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestApplied: a look tells which labels, annotations and taints BPA has set on a node, and whether it still has them.
func TestApplied(t *testing.T) {
	f := newFixture(t)
	set := nodemeta.Metadata{Labels: map[string]string{"zone": "a"}, Taints: []nodemeta.Taint{{Key: "gpu", Effect: "NoSchedule"}}}
	in, out, none := healthtest.Node("w-1", ""), healthtest.Node("w-2", ""), healthtest.Node("w-9", "")
	for _, n := range []*corev1.Node{&in, &out} {
		n.Annotations = map[string]string{nodemeta.Annotation: `{"labels":{"zone":"a"},"taints":[{"key":"gpu","effect":"NoSchedule"}]}`}
		n.Labels["zone"] = "a"
	}
	in.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	f.server.SetNodes([]corev1.Node{in, out, none}, time.Now())
	got := map[string]string{}
	for name, n := range f.client(t).Look(t.Context(), expected).Nodes {
		got[name] = n.Applied
	}
	if diff := cmp.Diff(map[string]string{"w-1": set.Digest(), "w-2": nodemeta.Differs, "w-9": ""}, got); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		change         func(*testing.T, fixture)
		silent, denied string
		certificate    time.Time
	}{
		"gone":              {change: func(_ *testing.T, f fixture) { f.server.Stop() }, silent: "connection refused"},
		"not ready":         {change: answer("/readyz", 500, "[+]ping ok\n[-]etcd failed: reason withheld\n[-]informer-sync failed: reason withheld\nreadyz check failed\n"), silent: "it is not ready: etcd, informer-sync", certificate: expires},
		"shutting down":     {change: answer("/readyz", 503, "apiserver is shutting down"), silent: "it is not ready (503 Service Unavailable)", certificate: expires},
		"wrong credentials": {change: answer("/readyz", 401, "{}"), denied: "the API server denies /readyz (401 Unauthorized)", certificate: expires},
		"no rights":         {change: answer(healthtest.Nodes, 403, "{}"), denied: "the API server denies /api/v1/nodes (403 Forbidden)", certificate: expires},
		"overloaded":        {change: answer(healthtest.Nodes, 429, "{}"), silent: "it answers /api/v1/nodes with 429 Too Many Requests", certificate: expires},
		"a redirect":        {change: answer(healthtest.Nodes, 302, ""), silent: "it answers /api/v1/nodes with 302 Found", certificate: expires},
		"a web page":        {change: answer(healthtest.Nodes, 0, "<html>"), silent: "its answer is not a list of objects", certificate: expires},
		"a cut list":        {change: answer(healthtest.Nodes, 0, `{"items":[{"metadata":{"name":"w-1"}}`), silent: "its answer is not a list of objects", certificate: expires},
		"another type":      {change: answer(healthtest.Leases, 0, `{"items":{}}`), silent: "its answer is not a list of objects", certificate: expires},
		"an expired certificate": {change: restart(func(t *testing.T, f fixture) {
			healthtest.Start(t, f.authority, f.at(t).Host, f.authority.Certificate(t, expires.Add(-30*time.Hour)))
		}), silent: "its certificate has expired", certificate: expires.Add(-30 * time.Hour)},
		"another cluster": {change: restart(func(t *testing.T, f fixture) {
			other := healthtest.NewAuthority(t)
			healthtest.Start(t, other, f.at(t).Host, other.Certificate(t, expires))
		}), silent: "its certificate is not valid: x509: certificate signed by unknown authority"},
		"no TLS": {change: restart(func(t *testing.T, f fixture) { listen(t, f.at(t).Host, "HTTP/1.0 400 Bad Request\r\n\r\n") }), silent: "no usable answer"},
		"closes": {change: restart(func(t *testing.T, f fixture) { listen(t, f.at(t).Host, "") }), silent: "it closes the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			test.change(t, f)
			got := f.client(t).Look(t.Context(), expected)
			want := health.Observation{Denied: test.denied, NotAfter: test.certificate}
			if test.silent != "" {
				want.Silent = f.at(t).Host + ": " + test.silent
			}
			if strings.HasPrefix(got.Silent, want.Silent) && want.Silent != "" {
				got.Silent = want.Silent // crypto/x509 adds a hint
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func answer(path string, code int, body string) func(*testing.T, fixture) {
	return func(_ *testing.T, f fixture) { f.server.Answer(path, code, []byte(body)) }
}

func restart(start func(*testing.T, fixture)) func(*testing.T, fixture) {
	return func(t *testing.T, f fixture) {
		f.server.Stop()
		start(t, f)
	}
}

// listen accepts connections, says the text, and closes them.
func listen(t *testing.T, address, text string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte(text))
			_ = c.Close()
		}
	}()
}

// TestForbiddenLeases: without the right to list leases, the conditions of the nodes are still seen.
func TestForbiddenLeases(t *testing.T) {
	f := newFixture(t)
	f.server.Answer(healthtest.Leases, 403, []byte("{}"))
	want := seen()
	want.Leases, want.LeaseTimes = nil, nil
	if diff := cmp.Diff(want, f.client(t).Look(t.Context(), expected)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAnotherControlPlaneAnswers: a dead first control plane is no silent API server. The next look
// begins with the one that answered.
func TestAnotherControlPlaneAnswers(t *testing.T) {
	f := newFixture(t)
	c := f.client(t, "127.0.0.1", "127.0.0.2", "")
	f.server.Stop()
	if o := c.Look(t.Context(), expected); !strings.HasSuffix(o.Silent, "connection refused; 127.0.0.2:"+f.at(t).Port()+": connection refused") {
		t.Errorf("with both down: %+v", o)
	}
	second := healthtest.Start(t, f.authority, "127.0.0.2:"+f.at(t).Port(), f.authority.Certificate(t, expires))
	second.SetNodes([]corev1.Node{healthtest.Node("w-9", "")}, time.Time{})
	for range 2 {
		if o := c.Look(t.Context(), expected); o.Silent != "" || !o.Nodes["w-9"].Ready {
			t.Errorf("with the second one up: %+v", o)
		}
	}
	if n := second.Requests.Load(); n != 6 {
		t.Errorf("%d requests to the second one", n)
	}
}

// TestAHungServer: a server that accepts connections and says nothing ends the look in time.
func TestAHungServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := healthtest.NewAuthority(t)
	c, err := New(a.Kubeconfig("https://"+l.Addr().String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if o := c.Look(ctx, expected); o.Silent != l.Addr().String()+": no answer in time" {
		t.Errorf("%+v", o)
	}
}

func TestKubeconfigs(t *testing.T) {
	a := healthtest.NewAuthority(t)
	good := string(a.Kubeconfig("https://10.0.0.1:6443"))
	if _, err := New([]byte(good), nil); err != nil {
		t.Fatal(err)
	}
	key := good[strings.Index(good, "client-key-data"):]
	for name, test := range map[string]struct{ kubeconfig, want string }{
		"nothing":            {"", "current context"},
		"no YAML":            {"\t:", "it is not a kubeconfig"},
		"another context":    {strings.Replace(good, "current-context: edge-1-health@edge-1", "current-context: x", 1), `current context "x" is incomplete`},
		"plain HTTP":         {strings.Replace(good, "https://", "http://", 1), "not an https address"},
		"a password":         {strings.Replace(good, "https://", "https://me:secret@", 1), "not an https address"},
		"no CA":              {strings.Replace(good, "certificate-authority-data", "insecure", 1), "no certificate-authority-data"},
		"a CA in a file":     {strings.Replace(good, "certificate-authority-data", "certificate-authority", 1), "no certificate-authority-data"},
		"files":              {strings.ReplaceAll(good, "client-certificate-data", "client-certificate"), "neither client-certificate-data nor a token"},
		"a program":          {strings.ReplaceAll(good, "{client-certificate-data", "{exec: {command: /bin/sh}, other"), "neither client-certificate-data nor a token"},
		"a key of another":   {strings.Replace(good, key, "client-key-data: "+"AAAA}\n", 1), "does not match its key"},
		"no bytes in base64": {strings.Replace(good, key, "client-key-data: '!'}\n", 1), "it is not a kubeconfig"},
	} {
		_, err := New([]byte(test.kubeconfig), nil)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	withToken := strings.Replace(strings.ReplaceAll(good, "client-certificate-data", "other"), "{other", "{token: abc, other", 1)
	if c, err := New([]byte(withToken), nil); err != nil || c.token != "abc" {
		t.Errorf("a token: %v", err)
	}
}

// FuzzItems: no answer makes the decoder fail in another way than with an error.
func FuzzItems(f *testing.F) {
	f.Add([]byte(`{"kind":"NodeList","items":[{"metadata":{"name":"a"}}]}`))
	f.Add([]byte(`{"items":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_ = eachItem(bytes.NewReader(raw), mostBytes, func(n node) { n.reduce() })
	})
}
