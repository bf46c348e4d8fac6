package config

import (
	"path/filepath"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/pki"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

// ControlPlane describes an etcd and a kube-apiserver: those of the machine, or a separate pair for
// a test.
type ControlPlane struct {
	Bin         func(name string) string // returns the path of a program
	PKI         string                   // folder with keys and certificates
	Data        string                   // folder for data
	Admission   string                   // file with the admission configuration of the API server
	Audit       string                   // file with the audit policy of the API server
	AuditLog    string                   // file to which the API server writes its audit log
	EtcdPort    string                   // etcd's port for clients
	EtcdPeer    string                   // etcd's port for other members; etcd listens at it although there are none
	EtcdHealth  string                   // etcd's port for health probes and metrics, on loopback
	Address     string                   // address at which the API server listens
	Port        string                   // port at which the API server listens
	ServiceCIDR string
	// Alone keeps the API server from asking programs that do not run, and from rules of users, before it stores an
	// object, and from writing its own address as that of Service kubernetes: the API server of the machine corrects
	// there only the address, not the port, and no pod would reach it.
	Alone bool
}

// Etcd returns the component that runs etcd. It needs no other component. etcd syncs each write, also in tests:
// the only copy of the keys of all Backups and clusters is in it, and one way to run it is enough.
func (c ControlPlane) Etcd() supervisor.Component {
	client, peer := "https://127.0.0.1:"+c.EtcdPort, "https://127.0.0.1:"+c.EtcdPeer
	cert, key, ca := c.key("etcd.crt"), c.key("etcd.key"), c.key("etcd-ca.crt")
	health := "http://127.0.0.1:" + c.EtcdHealth
	return supervisor.Component{
		Name: "etcd", Notify: true, Health: health + "/readyz", Inputs: []string{c.Bin("kube"), cert, key, ca},
		Args: []string{
			c.Bin("etcd"), "--name=" + etcdName, "--data-dir=" + filepath.Join(c.Data, "etcd"),
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=" + etcdName + "=" + peer,
			"--cert-file=" + cert, "--key-file=" + key, "--trusted-ca-file=" + ca, "--client-cert-auth",
			"--peer-cert-file=" + cert, "--peer-key-file=" + key, "--peer-trusted-ca-file=" + ca, "--peer-client-cert-auth",
			"--listen-metrics-urls=" + health, "--auto-compaction-retention=1h", "--quota-backend-bytes=4294967296", "--log-level=warn",
		},
	}
}

// APIServer returns the component that runs kube-apiserver. Its grace period is short, because it
// has no state and would otherwise wait a minute for clients that keep their connections open. A
// restart helps no API server whose etcd does not answer, so Live does not ask about etcd. The
// API server connects to the kubelet by address, because the node's name is not in DNS.
func (c ControlPlane) APIServer() supervisor.Component {
	component := c.apiServer()
	if c.Alone {
		component.Args = append(component.Args, "--endpoint-reconciler-type=none", "--disable-admission-plugins=MutatingAdmissionWebhook,ValidatingAdmissionWebhook,MutatingAdmissionPolicy,ValidatingAdmissionPolicy")
	}
	return component
}

func (c ControlPlane) apiServer() supervisor.Component {
	server := "https://" + c.Address + ":" + c.Port
	return supervisor.Component{
		Name: "kube-apiserver", Needs: []string{"etcd"}, Notify: true, Grace: 2 * time.Second, Health: server + "/readyz", Live: server + "/livez?exclude=etcd",
		Inputs: []string{c.Bin("kube"), c.key("ca.crt"), c.key("apiserver.crt"), c.key("apiserver-etcd.crt"), c.key("apiserver-kubelet.crt"), c.key("front-proxy.crt"), c.key("front-proxy-ca.crt"), c.key("sa.key"), c.key(pki.Encryption), c.Admission, c.Audit},
		Args: []string{
			c.Bin("kube-apiserver"),
			"--bind-address=" + c.Address, "--secure-port=" + c.Port, "--advertise-address=" + c.Address,
			"--etcd-servers=https://127.0.0.1:" + c.EtcdPort, "--etcd-cafile=" + c.key("etcd-ca.crt"),
			"--etcd-certfile=" + c.key("apiserver-etcd.crt"), "--etcd-keyfile=" + c.key("apiserver-etcd.key"),
			"--client-ca-file=" + c.key("ca.crt"),
			"--tls-cert-file=" + c.key("apiserver.crt"), "--tls-private-key-file=" + c.key("apiserver.key"),
			"--kubelet-client-certificate=" + c.key("apiserver-kubelet.crt"), "--kubelet-client-key=" + c.key("apiserver-kubelet.key"),
			"--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + c.key("sa.pub"), "--service-account-signing-key-file=" + c.key("sa.key"),
			"--service-cluster-ip-range=" + c.ServiceCIDR, "--authorization-mode=Node,RBAC", "--allow-privileged",
			"--enable-admission-plugins=NodeRestriction", "--admission-control-config-file=" + c.Admission,
			"--encryption-provider-config=" + c.key(pki.Encryption),
			"--audit-policy-file=" + c.Audit, "--audit-log-path=" + c.AuditLog, "--audit-log-maxsize=100", "--audit-log-maxbackup=4",
			"--requestheader-client-ca-file=" + c.key("front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
			"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + c.key("front-proxy.crt"), "--proxy-client-key-file=" + c.key("front-proxy.key"),
		},
	}
}

// Files returns the content of the configuration files by path.
func (c ControlPlane) Files() map[string]string {
	return map[string]string{c.Admission: admission(), c.Audit: auditPolicy}
}

func (c ControlPlane) key(file string) string { return filepath.Join(c.PKI, file) }

// EtcdURL is the address of the machine's etcd.
const EtcdURL = "https://127.0.0.1:" + etcdPort

const (
	etcdName = "bootstrap"
	etcdPort = "2379"
	etcdPeer = "2380"
)

// EtcdMember are the arguments with which etcdutl makes the data of the machine's etcd from a snapshot.
func EtcdMember() []string {
	const peer = "https://127.0.0.1:" + etcdPeer
	return []string{"--name=" + etcdName, "--initial-cluster=" + etcdName + "=" + peer, "--initial-advertise-peer-urls=" + peer}
}

// machineControlPlane returns the control plane of the machine. Its API server listens on the
// bridge only, because other networks of the machine must not reach it.
func machineControlPlane(l layout.Layout) ControlPlane {
	return ControlPlane{
		Bin: l.Bin, PKI: l.PKI(), Data: l.Data(), Admission: l.Etc("admission.yaml"), Audit: l.Etc("audit.yaml"), AuditLog: l.Log("audit", "audit.log"), EtcdPort: etcdPort, EtcdPeer: etcdPeer, EtcdHealth: "2381",
		Address: l.Net().NodeIP(), Port: layout.APIServerPort, ServiceCIDR: l.Net().Services.String(),
	}
}
