package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
)

// Machine holds the names and addresses of a machine that its certificates and kubeconfigs contain.
type Machine struct {
	Node      string   // node name
	IPs       []string // addresses at which the machine's servers listen
	Also      []string // names and addresses at which clients reach the API server too
	ServiceIP string   // address of the Service kubernetes.default
	Server    string   // https URL of the API server, for kubeconfigs
}

// user is an identity with a kubeconfig. Its certificate has name as CN, and group as O unless
// group is empty.
type user struct{ file, name, group string }

var users = []user{
	{"admin", "bootstrap-admin", "system:masters"},
	{"controller-manager", "system:kube-controller-manager", ""},
	{"scheduler", "system:kube-scheduler", ""},
	{"proxy", "system:kube-proxy", ""},
	{"depot", "bpa-depot", ""}, // ClusterRoleBindings let it create token and access reviews, and read Softwares
}

var (
	clusterCA    = subject{file: "ca", name: "kubernetes", ca: true}
	frontProxyCA = subject{file: "front-proxy-ca", name: "front-proxy", ca: true}
	etcdCA       = subject{file: "etcd-ca", name: "etcd", ca: true}
)

// Renew renews the certificates in a folder that Ensure has filled, and the kubeconfigs with them, while the programs
// that use them run. It reports whether it has changed a file. It never replaces an authority: if one ends soon, that
// is an error.
func Renew(dir string, machine Machine, now time.Time) (changed bool, err error) {
	for _, ca := range []subject{clusterCA, frontProxyCA, etcdCA} {
		have, err := load(dir, ca.file)
		if err != nil {
			return false, err
		}
		if !matches(have.cert, ca, nil, now) {
			return false, fmt.Errorf("the authority %s/%s.crt is valid until %s and is not replaced while the machine runs: run `machine up`, which replaces it and all certificates",
				dir, ca.file, have.cert.NotAfter.Format(time.DateOnly))
		}
	}
	before := versions(dir)
	err = Ensure(dir, machine, now)
	return versions(dir) != before, err
}

// versions returns a text that changes when a file in the folder is replaced.
func versions(dir string) string {
	var all strings.Builder
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			fmt.Fprintln(&all, e.Name(), info.ModTime().UnixNano())
		}
	}
	return all.String()
}

// Ensure creates or renews the files in dir: three certificate authorities (cluster, front proxy,
// etcd), the certificates that they sign, the key pair for service account tokens, the key of Secrets
// at rest, and <user>.kubeconfig for admin, controller-manager, scheduler, proxy, depot and kubelet. A damaged
// file is an error.
func Ensure(dir string, machine Machine, now time.Time) error {
	// Each component reaches its keys, and their own modes keep them from the others.
	if err := errors.Join(os.MkdirAll(dir, 0o711), os.Chmod(dir, 0o711)); err != nil {
		return fmt.Errorf("create key folder: %w", err)
	}
	cluster, err := ensure(dir, clusterCA, nil, now)
	if err != nil {
		return err
	}
	if err := servers(dir, machine, cluster, now); err != nil {
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
	if err := encryption(dir); err != nil {
		return err
	}
	return clients(dir, machine, cluster, now)
}

func servers(dir string, machine Machine, ca *pair, now time.Time) error {
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"}
	ips := append([]string{"127.0.0.1", machine.ServiceIP}, machine.IPs...)
	for _, host := range machine.Also {
		if net.ParseIP(host) != nil {
			ips = append(ips, host)
		} else {
			names = append(names, host)
		}
	}
	for _, s := range []subject{
		{file: "apiserver", name: "kube-apiserver", dns: names, ips: ips},
		{file: "apiserver-kubelet", name: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}},
		{file: "kubelet", name: "system:node:" + machine.Node, groups: []string{"system:nodes"}, dns: []string{machine.Node}, ips: append([]string{"127.0.0.1"}, machine.IPs...)},
	} {
		if _, err := ensure(dir, s, ca, now); err != nil {
			return err
		}
	}
	return nil
}

// aggregation creates the certificates of the front proxy. They have a separate authority, because
// any client certificate of the cluster could otherwise impersonate any user.
func aggregation(dir string, now time.Time) error {
	ca, err := ensure(dir, frontProxyCA, nil, now)
	if err == nil {
		_, err = ensure(dir, subject{file: "front-proxy", name: "front-proxy-client"}, ca, now)
	}
	return err
}

func etcd(dir string, now time.Time) error {
	ca, err := ensure(dir, etcdCA, nil, now)
	if err != nil {
		return err
	}
	if _, err = ensure(dir, subject{file: "etcd", name: "etcd-server", dns: []string{"localhost"}, ips: []string{"127.0.0.1"}}, ca, now); err != nil {
		return err
	}
	_, err = ensure(dir, subject{file: "apiserver-etcd", name: "kube-apiserver-etcd-client"}, ca, now)
	return err
}

// accountKeys creates the key pair with which service account tokens are signed, unless the pair
// exists. It never replaces the pair, because that would invalidate every token in use.
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
	if err := disk.WriteFile(filepath.Join(dir, "sa.pub"), encode("PUBLIC KEY", public), 0o644); err != nil {
		return err
	}
	return storeKey(private, key)
}

func clients(dir string, machine Machine, ca *pair, now time.Time) error {
	for _, u := range users {
		s := subject{file: u.file, name: u.name}
		if u.group != "" {
			s.groups = []string{u.group}
		}
		if _, err := ensure(dir, s, ca, now); err != nil {
			return err
		}
		if err := writeKubeconfig(dir, u.file, machine.Server); err != nil {
			return err
		}
	}
	return writeKubeconfig(dir, "kubelet", machine.Server)
}
