package pki

import (
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var (
	machine = Machine{Node: "bootstrap", IPs: []string{"10.60.0.1"}, ServiceIP: "10.61.0.1", Server: "https://10.60.0.1:6443"}
	now     = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func filled(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pki")
	if err := Ensure(dir, machine, now); err != nil {
		t.Fatal(err)
	}
	return dir
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		files[d.Name()] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEnsureTwiceChangesNothing(t *testing.T) {
	dir := filled(t)
	first := contents(t, dir)
	if err := Ensure(dir, machine, now.AddDate(0, 7, 0)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, contents(t, dir)); diff != "" {
		t.Errorf("files changed (-first +second):\n%s", diff)
	}
}

func TestEnsureRenewsOnlyWhatMustBe(t *testing.T) {
	for name, c := range map[string]struct {
		machine   Machine
		now       time.Time
		kept      []string
		recreated []string
	}{
		"near the end, all but the token keys": {
			machine, now.Add(caLifetime - caRenewAt + time.Hour), []string{"sa.key", "sa.pub"}, []string{"ca.crt", "apiserver.crt", "admin.kubeconfig", "etcd.crt"},
		},
		"8 months later, all but the authorities": {
			machine, now.Add(lifetime - renewAt + time.Hour), []string{"ca.crt", "etcd-ca.crt", "front-proxy-ca.crt", "sa.key"},
			[]string{"apiserver.crt", "admin.kubeconfig", "etcd.crt", "front-proxy.crt", "kubelet.kubeconfig"},
		},
		"issued while the clock was a year ahead": {
			machine, now.AddDate(-1, 0, 0), []string{"ca.crt"}, []string{"apiserver.crt", "admin.kubeconfig"},
		},
		"another address, only server certificates": {
			Machine{Node: "bootstrap", IPs: []string{"192.0.2.7"}, ServiceIP: "10.61.0.1", Server: "https://10.60.0.1:6443"}, now,
			[]string{"ca.crt", "etcd.crt", "admin.crt", "admin.kubeconfig"}, []string{"apiserver.crt", "kubelet.crt"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			before := contents(t, dir)
			if err := Ensure(dir, c.machine, c.now); err != nil {
				t.Fatal(err)
			}
			after := contents(t, dir)
			for _, file := range c.kept {
				if before[file] == "" || before[file] != after[file] {
					t.Errorf("%s was recreated", file)
				}
			}
			for _, file := range c.recreated {
				if before[file] == after[file] {
					t.Errorf("%s was kept", file)
				}
			}
		})
	}
}

func TestRenewKeepsTheAuthorities(t *testing.T) {
	dir := filled(t)
	for _, c := range []struct {
		now     time.Time
		changed bool
	}{{now.AddDate(0, 1, 0), false}, {now.AddDate(0, 9, 0), true}, {now.AddDate(0, 9, 0), false}, {now.AddDate(1, 6, 0), true}} {
		if changed, err := Renew(dir, machine, c.now); err != nil || changed != c.changed {
			t.Errorf("%s: changed %t (%v), want %t", c.now, changed, err, c.changed)
		}
	}
	before := contents(t, dir)
	changed, err := Renew(dir, machine, now.AddDate(9, 9, 0))
	if changed || err == nil || !strings.Contains(err.Error(), "ca.crt is valid until 2035-12-31") || !strings.Contains(err.Error(), "run `machine up`") {
		t.Errorf("with an authority that ends soon: changed %t, %v", changed, err)
	}
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("files changed (-before +after):\n%s", diff)
	}
}

func TestServerCertificateServesEveryNameOfTheAPI(t *testing.T) {
	dir := filled(t)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "apiserver.crt"), filepath.Join(dir, "apiserver.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"10.60.0.1", "10.61.0.1", "127.0.0.1", "localhost", "kubernetes.default.svc"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: pool(t, dir, "ca.crt"), CurrentTime: now}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnlyTheFrontProxysAuthoritySignsTheFrontProxy(t *testing.T) {
	dir := filled(t)
	admin, err := load(dir, "admin")
	if err != nil {
		t.Fatal(err)
	}
	options := x509.VerifyOptions{Roots: pool(t, dir, "front-proxy-ca.crt"), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := admin.cert.Verify(options); err == nil {
		t.Error("the front proxy's authority accepts the administrator's certificate")
	}
	front, err := load(dir, "front-proxy")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := front.cert.Verify(options); err != nil {
		t.Errorf("the front proxy's own certificate: %v", err)
	}
}

func TestPrivateFilesAreTheOwnersOnly(t *testing.T) {
	dir := filled(t)
	for _, pattern := range []string{"*.key", "*.kubeconfig"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v (%v), want 0600", filepath.Base(file), info.Mode(), err)
			}
		}
	}
}

func TestKubeconfigHoldsTheUsersCertificate(t *testing.T) {
	dir := filled(t)
	raw, err := os.ReadFile(Kubeconfig(dir, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	var k struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				CA     []byte `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				Cert []byte `json:"client-certificate-data"`
				Key  []byte `json:"client-key-data"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := yaml.Unmarshal(raw, &k); err != nil {
		t.Fatal(err)
	}
	if got := k.Clusters[0].Cluster.Server; got != machine.Server {
		t.Errorf("server %q, want %q", got, machine.Server)
	}
	pair, err := tls.X509KeyPair(k.Users[0].User.Cert, k.Users[0].User.Key)
	if err != nil {
		t.Fatal(err)
	}
	if got := pair.Leaf.Subject.Organization; len(got) != 1 || got[0] != "system:masters" {
		t.Errorf("groups %v, want system:masters", got)
	}
}

func TestDamagedKeyIsAnErrorNotANewAuthority(t *testing.T) {
	dir := filled(t)
	if err := os.WriteFile(filepath.Join(dir, "ca.key"), []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Ensure(dir, machine, now); err == nil {
		t.Error("no error: a new authority would invalidate every certificate in use")
	}
}

func pool(t *testing.T, dir, file string) *x509.CertPool {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(raw) {
		t.Fatalf("%s contains no certificate", file)
	}
	return p
}
