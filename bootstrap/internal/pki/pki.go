package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Site is what certificates must say about a machine.
type Site struct {
	Node      string   // node name
	IPs       []string // addresses of the machine's servers
	ServiceIP string   // of kubernetes.default
	Server    string   // https URL of the API server, for kubeconfigs
}

// User is one identity with a kubeconfig.
type user struct{ file, name, group string }

var users = []user{
	{"admin", "bootstrap-admin", "system:masters"},
	{"controller-manager", "system:kube-controller-manager", ""},
	{"scheduler", "system:kube-scheduler", ""},
	{"proxy", "system:kube-proxy", ""},
	{"depot", "bpa-depot", ""}, // may ask who a token is and what they may do, by a binding that the machine applies
}

// Ensure fills dir with three authorities (cluster, front proxy, etcd), the certificates they sign, the key pair of
// service account tokens, and a <user>.kubeconfig for admin, controller-manager, scheduler, proxy, depot and kubelet.
func Ensure(dir string, site Site, now time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make key folder: %w", err)
	}
	cluster, err := ensure(dir, subject{file: "ca", name: "kubernetes", ca: true}, nil, now)
	if err != nil {
		return err
	}
	if err := servers(dir, site, cluster, now); err != nil {
		return err
	}
	if err := aggregation(dir, now); err != nil {
		return err
	}
	if err := etcd(dir, now); err != nil {
		return err
	}
	if err := accountKeys(dir); err != nil {
		return err
	}
	return clients(dir, site, cluster, now)
}

func servers(dir string, site Site, ca *pair, now time.Time) error {
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"}
	ips := append([]string{"127.0.0.1", site.ServiceIP}, site.IPs...)
	for _, s := range []subject{
		{file: "apiserver", name: "kube-apiserver", dns: names, ips: ips},
		{file: "apiserver-kubelet", name: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}},
		{file: "kubelet", name: "system:node:" + site.Node, groups: []string{"system:nodes"}, dns: []string{site.Node}, ips: append([]string{"127.0.0.1"}, site.IPs...)},
	} {
		if _, err := ensure(dir, s, ca, now); err != nil {
			return err
		}
	}
	return nil
}

// aggregation: an authority of its own, or every client certificate of the cluster could speak for anyone.
func aggregation(dir string, now time.Time) error {
	ca, err := ensure(dir, subject{file: "front-proxy-ca", name: "front-proxy", ca: true}, nil, now)
	if err == nil {
		_, err = ensure(dir, subject{file: "front-proxy", name: "front-proxy-client"}, ca, now)
	}
	return err
}

func etcd(dir string, now time.Time) error {
	ca, err := ensure(dir, subject{file: "etcd-ca", name: "etcd", ca: true}, nil, now)
	if err != nil {
		return err
	}
	if _, err = ensure(dir, subject{file: "etcd", name: "etcd-server", dns: []string{"localhost"}, ips: []string{"127.0.0.1"}}, ca, now); err != nil {
		return err
	}
	_, err = ensure(dir, subject{file: "apiserver-etcd", name: "kube-apiserver-etcd-client"}, ca, now)
	return err
}

// accountKeys makes the pair that signs service account tokens; a new one would make every token in use worthless.
func accountKeys(dir string) error {
	private := filepath.Join(dir, "sa.key")
	if _, err := os.Stat(private); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "sa.pub"), encode("PUBLIC KEY", public), 0o644); err != nil {
		return err
	}
	return storeKey(private, key)
}

func clients(dir string, site Site, ca *pair, now time.Time) error {
	for _, u := range users {
		s := subject{file: u.file, name: u.name}
		if u.group != "" {
			s.groups = []string{u.group}
		}
		if _, err := ensure(dir, s, ca, now); err != nil {
			return err
		}
		if err := writeKubeconfig(dir, u.file, site.Server); err != nil {
			return err
		}
	}
	return writeKubeconfig(dir, "kubelet", site.Server)
}
