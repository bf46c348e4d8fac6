//go:build integration

package restore

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/backup"
	"github.com/akraino-icn/bpa/bootstrap/internal/config"
	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/kubernetes"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/pki"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
	"github.com/akraino-icn/bpa/bootstrap/manifests"
)

// The tests run etcd and kube-apiserver from the programs of the machine command, with folders and ports of their own.

var identity = pki.Machine{Node: "none", IPs: []string{"127.0.0.1"}, ServiceIP: layout.DefaultNetwork().ServiceIP(), Server: "https://127.0.0.1:1"}

// machine is a state folder with the programs of a machine.
type machine struct {
	layout.Layout
	control config.ControlPlane
	s       *supervisor.Supervisor
	log     string
}

func newMachine(t *testing.T, root string) *machine {
	t.Helper()
	m := &machine{Layout: layout.Layout{Root: root}, log: t.TempDir()}
	built := layout.FromEnv()
	for _, program := range []string{"etcd", "etcdutl", "kube-apiserver", "kubectl"} {
		if _, err := os.Stat(built.Bin(program)); err != nil {
			t.Fatalf("%v: run `machine build`", err)
		}
		if err := os.MkdirAll(m.BinDir(), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(built.Bin(program), m.Bin(program)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// setUp makes what `machine up` makes: an id, keys and configuration.
func (m *machine) setUp(t *testing.T) {
	t.Helper()
	if err := m.Claim(); err != nil {
		t.Fatal(err)
	}
	if err := pki.Ensure(m.PKI(), identity, time.Now()); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{m.Etc("kubelet.yaml"): "of " + m.Root, m.DepotToken(): "token", m.DepotCA(): "ca", m.Data("applied", "tekton"): "x"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// start starts components of the machine, etcd first, and waits until they are ready.
func (m *machine) start(t *testing.T, components ...func(config.ControlPlane) supervisor.Component) {
	t.Helper()
	m.begin(t, components...)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if err := m.s.AwaitReady(ctx); err != nil {
		log, _ := os.ReadFile(filepath.Join(m.log, components[len(components)-1](m.control).Name+".log"))
		t.Fatalf("%v:\n%s", err, tail(log))
	}
}

// begin starts components of the machine, etcd first.
func (m *machine) begin(t *testing.T, components ...func(config.ControlPlane) supervisor.Component) {
	t.Helper()
	ports, err := host.FreePorts(4)
	if err != nil {
		t.Fatal(err)
	}
	m.control = config.ControlPlane{
		Bin: m.Bin, PKI: m.PKI(), Data: m.Data(), Admission: m.Etc("admission.yaml"), Audit: m.Etc("audit.yaml"), AuditLog: m.Log("audit.log"),
		EtcdPort: ports[0], EtcdPeer: ports[1], EtcdHealth: ports[2], Address: "127.0.0.1", Port: ports[3], ServiceCIDR: layout.DefaultNetwork().Services.String(),
	}
	if err := config.Write(m.control.Files()); err != nil {
		t.Fatal(err)
	}
	m.s = supervisor.New(m.log)
	t.Cleanup(m.s.Stop)
	var plan supervisor.Plan
	for _, c := range components {
		plan.Components = append(plan.Components, c(m.control))
	}
	if err := m.s.Apply(plan); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) etcd() backup.Etcd {
	return backup.Etcd{URL: "https://127.0.0.1:" + m.control.EtcdPort, PKI: m.PKI()}
}

func (m *machine) api(t *testing.T) *kubernetes.Client {
	t.Helper()
	api, err := kubernetes.NewClient("https://127.0.0.1:"+m.control.Port, m.PKI())
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func (m *machine) kubectl(t *testing.T, stdin string, args ...string) {
	t.Helper()
	args = append([]string{"--kubeconfig=" + pki.Kubeconfig(m.PKI(), "admin"), "--server=https://127.0.0.1:" + m.control.Port}, args...)
	cmd := exec.CommandContext(t.Context(), m.Bin("kubectl"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %v: %v: %s", args, err, out)
	}
}

// restore is a restore onto the machine.
func (m *machine) restore(t *testing.T, file, key string) Restore {
	t.Helper()
	keys, err := backup.ReadKey(key)
	if err != nil {
		t.Fatal(err)
	}
	paths := supervisor.Paths{Lock: m.Run("supervisor.lock")}
	return Restore{Layout: m.Layout, Paths: paths, File: file, Keys: keys, PKI: identity, Log: t.Output(), Now: time.Now()}
}

// siteHosts are the hosts of the site when the backup is made: name, state, and what else they have.
const siteHosts = `
{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: free, namespace: default}, spec: {online: false}}
---
{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: node, namespace: default},
 spec: {online: true, image: {url: "http://depot/os.raw"}, consumerRef: {kind: Provisioning, namespace: default, name: edge}}}
---
{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: imaging, namespace: default}, spec: {online: true, image: {url: "http://depot/os.raw"}}}
---
{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: detached, namespace: default, annotations: {baremetalhost.metal3.io/detached: "by the site"}}, spec: {online: true}}
`

var siteStates = map[string]string{"free": "available", "node": "provisioned", "imaging": "provisioning", "detached": "provisioned"}

// broken are webhooks and a policy that refuse each change of a host and of a Provisioning: their programs do not run
// during a restore.
const broken = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: broken}
webhooks:
- name: broken.example.org
  rules: [{apiGroups: [metal3.io, bpa.akraino.org], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]
  clientConfig: {service: {name: none, namespace: default}}
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: broken}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [metal3.io], apiVersions: ["*"], operations: [UPDATE], resources: [baremetalhosts]}]}
  validations: [{expression: "false", message: nobody may}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: broken}
spec: {policyName: broken, validationActions: [Deny]}
`

func (m *machine) populate(t *testing.T) {
	t.Helper()
	crds := string(manifests.Metal3)
	for _, file := range []string{"300-provisionings.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../../config", file))
		if err != nil {
			t.Fatal(err)
		}
		crds += "\n---\n" + string(text)
	}
	m.kubectl(t, crds, "apply", "--server-side", "-f", "-")
	m.kubectl(t, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
	m.kubectl(t, siteHosts, "create", "-f", "-")
	for name, state := range siteStates {
		status := fmt.Sprintf(`{"status": {"provisioning": {"state": %q, "ID": "", "image": {"url": ""}}, "poweredOn": true, "errorMessage": "", "errorCount": 0, "operationalStatus": "OK"}}`, state)
		m.kubectl(t, "", "patch", "bmh", name, "--subresource=status", "--type=merge", "-p", status)
	}
	sample, err := os.ReadFile("../../../config/samples/provisioning.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m.kubectl(t, string(sample), "create", "-n", "default", "-f", "-")
	m.kubectl(t, strings.Replace(string(sample), "  name: edge-1\n", "  name: leaving\n  finalizers: [example.org/reset]\n", 1), "create", "-n", "default", "-f", "-")
	m.kubectl(t, "", "delete", "-n", "default", "provisioning/leaving", "--wait=false")
	m.kubectl(t, broken, "apply", "-f", "-")
}

// etcdClient returns a function that calls etcd by its JSON API.
func (m *machine) etcdClient(t *testing.T) func(path string, body, out any) error {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(m.PKI(), "apiserver-etcd.crt"), filepath.Join(m.PKI(), "apiserver-etcd.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(m.PKI(), "etcd-ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}}
	return func(path string, body, out any) error {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		resp, err := client.Post(m.etcd().URL+path, "application/json", bytes.NewReader(text))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return json.NewDecoder(resp.Body).Decode(out)
	}
}

type pair struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value,omitempty"`
	End   []byte `json:"range_end,omitempty"`
}

// keys returns the keys of etcd that begin with a prefix.
func (m *machine) keys(t *testing.T, prefix string) map[string]string {
	t.Helper()
	var answer struct{ Kvs []pair }
	if err := m.etcdClient(t)("/v3/kv/range", pair{Key: []byte(prefix), End: append([]byte(prefix), 0xff)}, &answer); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, kv := range answer.Kvs {
		found[string(kv.Key)] = string(kv.Value)
	}
	return found
}

// writeUntil writes numbered keys with some clients until stop closes, and returns how many of each client were
// acknowledged when asked.
func (m *machine) writeUntil(t *testing.T, stop <-chan struct{}) (acknowledged func() []int, wait func()) {
	t.Helper()
	counts := make([]atomic.Int64, 3)
	var clients sync.WaitGroup
	for c := range counts {
		post := m.etcdClient(t)
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := post("/v3/kv/put", pair{Key: fmt.Appendf(nil, "test/%d/%06d", c, n), Value: bytes.Repeat([]byte{'x'}, 2000)}, &struct{}{}); err != nil {
					t.Errorf("write: %v", err)
					return
				}
				counts[c].Add(1)
			}
		})
	}
	return func() (all []int) {
		for c := range counts {
			all = append(all, int(counts[c].Load()))
		}
		return all
	}, clients.Wait
}

func (m *machine) hosts(t *testing.T) (hosts map[string]Host, annotations map[string]map[string]string) {
	t.Helper()
	_, all, err := objects(t.Context(), m.api(t), hostCRD)
	if err != nil {
		t.Fatal(err)
	}
	hosts, annotations = map[string]Host{}, map[string]map[string]string{}
	for _, o := range all {
		hosts[o.Metadata.Name], annotations[o.Metadata.Name] = o.host(), o.Metadata.Annotations
	}
	return hosts, annotations
}

// TestABackupUnderWritesIsRestored backs up a machine while clients write, and restores it onto an empty machine and
// onto the machine itself. Nothing that was acknowledged before the backup is lost, and no host is ever in etcd without
// being detached.
func TestABackupUnderWritesIsRestored(t *testing.T) {
	site := newMachine(t, filepath.Join(t.TempDir(), "site"))
	site.setUp(t)
	site.start(t, config.ControlPlane.Etcd, config.ControlPlane.APIServer)
	site.populate(t)
	file, key := site.backupUnderWrites(t)

	// After the backup, the free host becomes a node. A restore that does not detach it would have it erased.
	site.kubectl(t, "", "delete", "validatingwebhookconfiguration,validatingadmissionpolicy,validatingadmissionpolicybinding", "broken")
	await(t, "the end of the policy", func() bool {
		return annotate(t.Context(), site.api(t), "/apis/metal3.io/v1alpha1/namespaces/default/baremetalhosts/free", map[string]any{"newer": "yes"}) == nil
	})
	site.s.Stop()

	began := time.Now()
	empty := newMachine(t, filepath.Join(t.TempDir(), "empty"))
	report, err := empty.restore(t, file.path, key).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("restored in %s", time.Since(began).Round(time.Millisecond))
	if id, err := site.ID(); err != nil || report.Manifest.Machine != id || len(report.Hosts) != 4 || !slices.Equal(report.Paused, []string{"default/edge-1"}) || !slices.Equal(report.Deleting, []string{"default/leaving"}) {
		t.Errorf("report %+v, %v", report, err)
	}
	empty.checkKeys(t, file)
	empty.start(t, config.ControlPlane.Etcd, config.ControlPlane.APIServer)
	empty.checkHosts(t)
	empty.checkAttach(t)
	empty.s.Stop()
	if exists(empty.BeforeRestore()) {
		t.Error("an empty machine had something before")
	}

	if _, err := site.restore(t, file.path, key).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	site.checkKeys(t, file)
	for _, old := range []string{"data/etcd/member/snap/db", "data/applied/tekton", "pki/sa.key", "etc/kubelet.yaml", "depot/local-token"} {
		if !exists(site.BeforeRestore(old)) {
			t.Errorf("%s of before is not in before-restore", old)
		}
	}
	if exists(site.Data("applied")) {
		t.Error("`machine up` would not apply the manifests that etcd has lost")
	}
}

type madeBackup struct {
	path   string
	before []int // acknowledged writes of each client before the backup
}

func (m *machine) backupUnderWrites(t *testing.T) (made madeBackup, key string) {
	t.Helper()
	key = filepath.Join(t.TempDir(), "key")
	public, err := backup.NewKey(key)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	acknowledged, wait := m.writeUntil(t, stop)
	await(t, "some writes", func() bool { return slices.Min(acknowledged()) > 20 })
	made.before = acknowledged()
	s := backup.Settings{Recipient: public, To: t.TempDir(), Every: "24h", Keep: 1, SameDisk: true}
	found, err := backup.Make(t.Context(), m.Layout, s, m.etcd(), backup.Manual, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	during := acknowledged()
	close(stop)
	wait()
	t.Logf("writes before the backup %v, and at its end %v", made.before, during)
	made.path = found.Path
	return made, key
}

// checkKeys starts etcd on the restored state, alone.
func (m *machine) checkKeys(t *testing.T, made madeBackup) {
	t.Helper()
	m.start(t, config.ControlPlane.Etcd)
	defer m.s.Stop()
	hosts := m.keys(t, "/registry/metal3.io/baremetalhosts/")
	if len(hosts) != len(siteStates) {
		t.Errorf("%d hosts", len(hosts))
	}
	for name, text := range hosts {
		if !strings.Contains(text, detachedAnnotation) || !strings.Contains(text, pausedAnnotation) {
			t.Errorf("the first reader of etcd sees a host that is not detached: %s: %s", name, text)
		}
	}
	for c, before := range made.before {
		have := m.keys(t, fmt.Sprintf("test/%d/", c))
		if len(have) < before {
			t.Errorf("client %d: %d keys, but %d were acknowledged before the backup", c, len(have), before)
		}
		for n := range len(have) {
			if have[fmt.Sprintf("test/%d/%06d", c, n)] == "" {
				t.Errorf("client %d: key %d is missing, and a later one is there", c, n)
			}
		}
	}
}

func (m *machine) checkHosts(t *testing.T) {
	t.Helper()
	hosts, annotations := m.hosts(t)
	if len(hosts) != len(siteStates) {
		t.Fatalf("hosts %v", hosts)
	}
	for name, h := range hosts {
		detached := values[detachedAnnotation]
		if name == "detached" {
			detached = "by the site"
		}
		has := annotations[name]
		if h.State != siteStates[name] || has[detachedAnnotation] != detached || has[pausedAnnotation] != values[pausedAnnotation] || h.Restored.IsZero() || has["newer"] != "" {
			t.Errorf("%s: %+v %v", name, h, has)
		}
	}
	if h := hosts["node"]; h.Consumer != "Provisioning default/edge" || h.Image != "http://depot/os.raw" || !h.Online {
		t.Errorf("%+v", h)
	}
	if paused, err := Paused(t.Context(), m.api(t)); err != nil || !slices.Equal(paused, []string{"default/edge-1"}) {
		t.Errorf("paused %v, %v", paused, err)
	}
}

func (m *machine) checkAttach(t *testing.T) {
	t.Helper()
	m.kubectl(t, "", "delete", "validatingwebhookconfiguration,validatingadmissionpolicy,validatingadmissionpolicybinding", "broken", "--ignore-not-found")
	api := m.api(t)
	if attached, err := Attach(t.Context(), api, []string{"default/free", "default/nobody"}); err == nil || !strings.Contains(err.Error(), "default/nobody, so nothing was changed") || len(attached) > 0 {
		t.Errorf("%v, %v", attached, err)
	}
	var attached []string
	await(t, "the end of the policy", func() bool {
		done, err := Attach(t.Context(), api, []string{"default/detached"})
		attached = append(attached, done...)
		return err == nil
	})
	if !slices.Equal(attached, []string{"default/detached"}) {
		t.Errorf("attached %v", attached)
	}
	hosts, annotations := m.hosts(t)
	if diff := cmp.Diff(map[string]string{detachedAnnotation: "by the site"}, annotations["detached"]); diff != "" || !hosts["detached"].Restored.IsZero() {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if annotations["free"][pausedAnnotation] == "" {
		t.Error("another host was attached too")
	}
	if attached, err := Attach(t.Context(), api, nil); err != nil || len(attached) != 3 {
		t.Errorf("%v, %v", attached, err)
	}
	if _, annotations = m.hosts(t); len(annotations["free"]) != 0 {
		t.Errorf("%v", annotations["free"])
	}
}

// TestARestoreThatFailsChangesNothing: what is refused, and what the message says.
func TestARestoreThatFailsChangesNothing(t *testing.T) {
	site := newMachine(t, filepath.Join(t.TempDir(), "site"))
	site.setUp(t)
	site.start(t, config.ControlPlane.Etcd)
	file, key := site.backupUnderWrites(t)
	site.s.Stop()
	good, err := os.ReadFile(file.path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.age")
	good[len(good)/2] ^= 1
	if err := os.WriteFile(damaged, good, 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong")
	if _, err := backup.NewKey(wrong); err != nil {
		t.Fatal(err)
	}
	other := newMachine(t, filepath.Join(t.TempDir(), "other"))
	other.setUp(t)
	if err := os.MkdirAll(other.Data("etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	full := newMachine(t, fullDisk(t))
	noTools := &machine{Layout: layout.Layout{Root: t.TempDir()}}
	for name, c := range map[string]struct {
		onto      *machine
		file, key string
		prepare   func(*testing.T)
		want      []string
	}{
		"a damaged backup":  {site, damaged, key, nil, []string{"damaged.age is damaged", "use another copy of it, or an older backup"}},
		"a wrong key":       {site, file.path, wrong, nil, []string{"is not for the private key of age1"}},
		"no backup":         {site, key, key, nil, []string{"is damaged, or no backup of a machine"}},
		"another machine":   {other, file.path, key, nil, []string{"the backup is of the machine", "run `machine destroy` first"}},
		"a full disk":       {full, file.path, key, nil, []string{"no space left on device: free space on the disk of"}},
		"no programs":       {noTools, file.path, key, nil, []string{"run `machine build` in a checkout of the source first"}},
		"a supervisor runs": {site, file.path, key, func(t *testing.T) { hold(t, site) }, []string{"run `machine down` first"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.prepare != nil {
				c.prepare(t)
			}
			before := tree(t, c.onto.Root)
			_, err := c.onto.restore(t, c.file, c.key).Run(t.Context())
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}
			if diff := cmp.Diff(before, tree(t, c.onto.Root)); diff != "" {
				t.Errorf("the state has changed (-before +after):\n%s", diff)
			}
		})
	}
}

func hold(t *testing.T, m *machine) {
	t.Helper()
	release, err := supervisor.Hold(supervisor.Paths{Lock: m.Run("supervisor.lock")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = release() })
}

// fullDisk is a file system with room for a backup, but not for the data of an etcd.
func fullDisk(t *testing.T) string {
	t.Helper()
	return smallDisk(t, "16m")
}

func smallDisk(t *testing.T, size string) string {
	t.Helper()
	at := t.TempDir()
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a tmpfs: %v (this test needs root)", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	return at
}

// tree returns the files below a folder with their sizes, except locks and logs.
func tree(t *testing.T, root string) map[string]int64 {
	t.Helper()
	files := map[string]int64{}
	err := filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(at, filepath.Join(root, "log")+"/") || e.Name() == "supervisor.lock" {
			return err
		}
		info, err := e.Info()
		files[at] = info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestABackupOntoAFullDiskLeavesTheOthers: a failed backup costs no earlier one.
func TestABackupOntoAFullDiskLeavesTheOthers(t *testing.T) {
	site := newMachine(t, filepath.Join(t.TempDir(), "site"))
	site.setUp(t)
	site.start(t, config.ControlPlane.Etcd)
	public, err := backup.NewKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	s := backup.Settings{Recipient: public, To: fullDisk(t), Every: "24h", Keep: 1}
	first, err := backup.Make(t.Context(), site.Layout, s, site.etcd(), backup.Scheduled, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.To, "other"), make([]byte, 15<<20), 0o600); err != nil {
		t.Logf("the disk is full: %v", err)
	}
	post := site.etcdClient(t)
	for n := range 4 { // the next backup needs more than is free
		if err := post("/v3/kv/put", pair{Key: fmt.Appendf(nil, "%d", n), Value: bytes.Repeat([]byte{'x'}, 1<<20)}, &struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = backup.Make(t.Context(), site.Layout, s, site.etcd(), backup.Scheduled, time.Now().Add(time.Minute))
	if err == nil || !strings.Contains(err.Error(), "no space left on device: free space in "+s.To) {
		t.Errorf("%v", err)
	}
	to, err := s.Target(t.Context(), site.Layout)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := backup.List(t.Context(), to, first.Machine); err != nil || len(all) != 1 || all[0].Path != first.Path {
		t.Errorf("%v, %v", all, err)
	}
	if left, err := filepath.Glob(filepath.Join(s.To, "*.partial")); err != nil || len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	limit, tick := time.After(30*time.Second), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("timed out: %s", what)
		}
	}
}

// TestTheAgeOfTheBackupIsPublished: the ConfigMap that `kubectl bpa status` reads.
func TestTheAgeOfTheBackupIsPublished(t *testing.T) {
	site := newMachine(t, filepath.Join(t.TempDir(), "site"))
	site.setUp(t)
	site.start(t, config.ControlPlane.Etcd, config.ControlPlane.APIServer)
	defer site.s.Stop()
	api := site.api(t)
	publish := func() (data map[string]string, version string) {
		t.Helper()
		if err := backup.Publish(t.Context(), site.Layout, api); err != nil {
			t.Fatal(err)
		}
		var found struct {
			Metadata struct{ ResourceVersion string }
			Data     map[string]string
		}
		err := api.Get(t.Context(), "/api/v1/namespaces/bpa-system/configmaps/machine-backup", &found)
		if err != nil && !errors.Is(err, kubernetes.ErrNotFound) {
			t.Fatal(err)
		}
		return found.Data, found.Metadata.ResourceVersion
	}
	if _, version := publish(); version != "" {
		t.Errorf("published on a machine without BPA: %s", version)
	}
	site.kubectl(t, "", "create", "namespace", "bpa-system")
	data, version := publish()
	if len(data) != 0 || version == "" {
		t.Errorf("without settings: %v, version %q", data, version)
	}
	public, err := backup.NewKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	s := backup.Settings{Recipient: public, To: t.TempDir(), Every: "24h", Keep: 1, SameDisk: true}
	if err := s.Write(t.Context(), site.Layout); err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	if _, err := backup.Make(t.Context(), site.Layout, s, site.etcd(), backup.Scheduled, noon); err != nil {
		t.Fatal(err)
	}
	data, made := publish()
	if diff := cmp.Diff(map[string]string{"every": "24h", "time": "2026-11-28T12:00:00Z"}, data); diff != "" || made == version {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, again := publish(); again != made {
		t.Error("the object is written although nothing has changed")
	}
	s.To = "/none"
	if _, err := backup.Make(t.Context(), site.Layout, s, site.etcd(), backup.Scheduled, noon.Add(time.Hour)); err == nil {
		t.Fatal("a backup to no folder")
	}
	if data, _ := publish(); data["failed"] != "2026-11-28T13:00:00Z" || data["time"] != "2026-11-28T12:00:00Z" {
		t.Errorf("after a failure: %v", data)
	}
	if err := os.Remove(site.BackupSettings()); err != nil {
		t.Fatal(err)
	}
	if data, _ := publish(); data["every"] != "" {
		t.Errorf("without settings again: %v", data)
	}
}
