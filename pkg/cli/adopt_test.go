package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine/machinetest"
	"github.com/akraino-icn/bpa/pkg/secretvars"
	"github.com/akraino-icn/bpa/pkg/settings"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
)

// lostSite is a site whose objects are lost except hosts and the SSH key. Cluster edge-1 has master-1 on host-1 and worker-1 on host-2;
// host-3 is free and host-4 is off.
type lostSite struct {
	*terminal
	marks [3]contract.User
	ca    *machinetest.CA
	port  string
	// writes counts those that are stored, and failAt is the number of the one that fails; 0: none. refused is a resource
	// that the user may not write.
	writes, failAt int
	refused        string
	// stored is called after each write that is stored.
	stored func()
}

var errPower = errors.New("the power is cut")

func newLostSite(t *testing.T, objects ...client.Object) *lostSite {
	t.Helper()
	w := &lostSite{terminal: newTerminal(t), ca: machinetest.NewCA(t, time.Now()), stored: func() {}}
	mark := contract.User{Namespace: "site-a", Name: "edge-1", UID: "first"}
	w.marks = [3]contract.User{mark, mark, {}}
	signer, key := sshtest.NewKey(t)
	hostKey, _ := sshtest.NewKey(t)
	listeners := sshtest.Listen(t, "127.0.0.1", "127.0.0.2", "127.0.0.3")
	for i := range listeners {
		server := sshtest.StartOn(t, listeners[i], signer.PublicKey(), func(command string, stdout, _ io.Writer) int { return w.answer(i, command, stdout) }, hostKey)
		w.port = strconv.Itoa(server.Port)
	}
	objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "ssh-key"}, Data: map[string][]byte{"ssh-privatekey": key}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}, Data: map[string]string{"depot-url": "internet"}})
	for n := 1; n <= 4; n++ {
		objects = append(objects, bareMetal(n, 8, func(h *metal3.BareMetalHost) { h.UID = types.UID(fmt.Sprintf("uid-%d", n)) }))
	}
	w.use(objects)
	return w
}

// answer is what the server of host-i+1 prints.
func (w *lostSite) answer(i int, command string, stdout io.Writer) int {
	nodes := []string{"master-1", "worker-1"}
	switch {
	case strings.Contains(command, "perm_hwaddr"):
		fmt.Fprintf(stdout, "name node-%d\ncard eth0 02:00:00:00:00:%02x\n", i+1, i+1)
	case strings.Contains(command, "kubelet-client-current"):
		fmt.Fprint(stdout, w.ca.Member(w.t, nodes[i], i == 0))
	case strings.Contains(command, "get nodes"):
		fmt.Fprint(stdout, `{"items": [
{"metadata": {"name": "master-1", "labels": {"node-role.kubernetes.io/control-plane": ""}}, "spec": {"taints": [{"key": "node-role.kubernetes.io/control-plane"}]},
 "status": {"nodeInfo": {"kubeletVersion": "v1.35.4"}, "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}},
{"metadata": {"name": "worker-1"}, "status": {"nodeInfo": {"kubeletVersion": "v1.35.4"}, "addresses": [{"type": "InternalIP", "address": "10.0.0.2"}]}}]}`)
	case strings.Contains(command, "configmap kubeadm-config"):
		fmt.Fprint(stdout, `{"data": {"ClusterConfiguration": "kubernetesVersion: v1.35.4\nnetworking: {dnsDomain: cluster.local, podSubnet: 10.244.64.0/18, serviceSubnet: 10.233.0.0/18}\n"}}`)
	case strings.Contains(command, "configmap kube-root-ca.crt"):
		text, _ := json.Marshal(w.ca.PEM)
		fmt.Fprintf(stdout, `{"data": {"ca.crt": %s}}`, text)
	case strings.Contains(command, "get daemonsets"):
		fmt.Fprintln(stdout, "daemonset.apps/kube-flannel")
	case strings.Contains(command, "member list"):
		fmt.Fprint(stdout, `{"members": [{"ID": 1, "name": "etcd1", "peerURLs": ["https://10.0.0.1:2380"]}]}`)
	case strings.HasPrefix(command, "test -s"):
	default:
		if u := w.marks[i]; u != (contract.User{}) {
			fmt.Fprintf(stdout, "user %s\nkubernetes process kubelet (7)\n", base64.StdEncoding.EncodeToString([]byte(u.String())))
		}
		fmt.Fprintln(stdout, "end")
	}
	return 0
}

// use makes a cluster with these objects, whose API server gives objects UIDs.
func (w *lostSite) use(objects []client.Object) {
	scheme, err := newScheme()
	if err != nil {
		w.t.Fatal(err)
	}
	uids := 0
	write := func(o client.Object, dry bool, do func() error) error {
		switch {
		case w.refused != "" && strings.Contains(fmt.Sprintf("%T", o), w.refused):
			return apierrors.NewForbidden(schema.GroupResource{Resource: w.refused}, o.GetName(), errors.New("no right"))
		case dry:
			return do()
		case w.failAt > 0 && w.writes+1 == w.failAt:
			return errPower
		}
		w.writes++
		err := do()
		w.stored()
		return err
	}
	w.cluster = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.Provisioning{}).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			uids++
			o.SetUID(types.UID(fmt.Sprintf("made-%d", uids)))
			dry := (&client.CreateOptions{}).ApplyOptions(opts).DryRun
			return write(o, len(dry) > 0, func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write(o, len((&client.UpdateOptions{}).ApplyOptions(opts).DryRun) > 0, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return write(o, len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) > 0, func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			dry := (&client.SubResourcePatchOptions{}).ApplyOptions(opts).DryRun
			return write(o, len(dry) > 0, func() error { return c.SubResource(name).Patch(ctx, o, patch, opts...) })
		},
	})
}

func (w *lostSite) adopt(args ...string) int {
	return w.run(w.t.Context(), append([]string{"adopt", "edge-1", "--ssh-port", w.port}, args...)...)
}

func (w *lostSite) get(name string, into client.Object) error {
	return w.cluster.Get(w.t.Context(), client.ObjectKey{Namespace: "site-a", Name: name}, into)
}

// found returns what is stored: the Provisioning, the record, the host keys, and the claims as "host node mark".
func (w *lostSite) found() (p *v1alpha1.Provisioning, record, known *corev1.ConfigMap, claims []string) {
	w.t.Helper()
	p, record, known = &v1alpha1.Provisioning{}, &corev1.ConfigMap{}, &corev1.ConfigMap{}
	if err := errors.Join(w.get("edge-1", p), w.get("edge-1-installed", record), w.get("edge-1-known-hosts", known)); err != nil {
		w.t.Fatal(err)
	}
	return p, record, known, w.claims()
}

func (w *lostSite) claims() (claims []string) {
	var all metal3.BareMetalHostList
	if err := w.cluster.List(w.t.Context(), &all); err != nil {
		w.t.Fatal(err)
	}
	for _, h := range all.Items {
		if ref := h.Spec.ConsumerRef; ref != nil {
			claims = append(claims, fmt.Sprintf("%s %s/%s(%s) %s %s", h.Name, ref.Namespace, ref.Name, ref.UID, h.Labels[contract.LabelNode], h.Annotations[contract.AnnotationUsedBy]))
		}
	}
	return claims
}

var wantClaims = []string{"host-1 site-a/edge-1(first) master-1 site-a/edge-1 first", "host-2 site-a/edge-1(first) worker-1 site-a/edge-1 first"}

// check checks that the adoption is complete.
func (w *lostSite) check() *v1alpha1.Provisioning {
	w.t.Helper()
	p, record, known, claims := w.found()
	if p.Spec.Paused || p.Annotations[contract.AnnotationAdopting] != "" || p.Annotations[contract.AnnotationRetry] == "" || p.ClusterUID() != "first" || p.UID == "first" || p.Status.InstalledDigest == "" {
		w.t.Errorf("paused %t, annotations %v, status %+v", p.Spec.Paused, p.Annotations, p.Status)
	}
	for _, cm := range []*corev1.ConfigMap{record, known} {
		if !metav1.IsControlledBy(cm, p) || cm.Labels[contract.LabelCluster] != "edge-1" {
			w.t.Errorf("%s: owners %v, labels %v", cm.Name, cm.OwnerReferences, cm.Labels)
		}
	}
	var installed contract.Installed
	if err := json.Unmarshal([]byte(record.Data[contract.KeyInstalled]), &installed); err != nil || len(installed.Nodes) != 2 || installed.Nodes[0].Etcd != "etcd1" || installed.Request.UID != "first" {
		w.t.Errorf("%v, record %+v", err, installed)
	}
	if record.Data[contract.KeyHosts] != `{"uid-1":"used","uid-2":"used"}` || record.Data[contract.KeyJoined] != `["uid-1","uid-2"]` || record.Data[contract.KeyComplete] != "true" {
		w.t.Errorf("record %v", record.Data)
	}
	if pins, err := ssh.ParsePins(known.Data[contract.KeyKnownHosts]); err != nil || len(pins) != 2 || pins.Of("uid-2") == nil {
		w.t.Errorf("%v, pins %v", err, pins)
	}
	if !slices.Equal(claims, wantClaims) {
		w.t.Errorf("claims %q", claims)
	}
	return p
}

// TestAdopt: nothing is written before the user agrees, and then everything.
func TestAdopt(t *testing.T) {
	for _, dry := range []string{"client", "server"} {
		w := newLostSite(t)
		w.expect(w.adopt("--dry-run="+dry), codeDone, "asked 4 of 4", "site-a/host-2 has the mark of site-a/edge-1", "host-1  agrees  master-1  node master-1, by the certificate of its kubelet", "host-3  free", "host-4  silent",
			"Cluster site-a/edge-1 (first): Kubernetes 1.35.4, pods ", "mac-address: \"02:00:00:00:00:01\"", "claims of host-1, host-2", "nothing was changed")
		if w.writes > 0 || len(w.claims()) > 0 {
			t.Errorf("a dry run has written")
		}
	}
	w := newLostSite(t)
	w.typed = strings.NewReader("no\n")
	if code := w.adopt(); code == codeDone || w.writes > 0 {
		t.Errorf("exit code %d, %d writes without the agreement of the user", code, w.writes)
	}
	w.typed = strings.NewReader("yes\n")
	w.expect(w.adopt(), codeDone, "edge-1 was adopted", "kubectl bpa watch edge-1 -n site-a")
	p := w.check()
	if len(p.Spec.Masters) != 1 || len(p.Spec.Workers) != 1 || p.Spec.Kubernetes.Version != "1.35.4" || p.Spec.SSH.Port == 0 {
		t.Errorf("spec %+v", p.Spec)
	}
	w.expect(w.adopt("--yes"), codeDone, "edge-1 was adopted") // again
	w.check()
}

const edgeFile = `apiVersion: bpa.akraino.org/v1alpha1
kind: Provisioning
metadata: {name: edge-1, labels: {cluster: north}, annotations: {bpa.akraino.org/restore: old, site: x}, uid: "7", resourceVersion: "9"}
spec: {masters: [{master-1: {cpu: 1}}], workers: [{worker-1: {cpu: 1}}], PodSubnet: 10.244.64.0/18, kubernetes: {version: 1.35.4}, ssh: {port: PORT}, kubespray: {vars: {x: 1}}}
`

// file writes a manifest, with these words replaced.
func (w *lostSite) file(edits ...string) string {
	name := filepath.Join(w.t.TempDir(), "edge-1.yaml")
	if err := os.WriteFile(name, []byte(strings.NewReplacer(append(edits, "PORT", w.port)...).Replace(edgeFile)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return name
}

// TestAdoptAFile: the manifest of the user counts, without its requests of earlier times.
func TestAdoptAFile(t *testing.T) {
	w := newLostSite(t)
	w.expect(w.run(t.Context(), "adopt", "edge-1", "--yes", "-f", w.file()), codeDone, "Provisioning edge-1 of ")
	p := w.check()
	if _, record, _, _ := w.found(); !strings.Contains(record.Data[contract.KeyInstalled], `"restored":"old"`) {
		t.Errorf("the manifest would restore the cluster if it is applied again: %s", record.Data[contract.KeyInstalled])
	}
	if p.Labels["cluster"] != "north" || p.Annotations["site"] != "x" || p.Annotations[contract.AnnotationRestore] != "" || p.Spec.Kubespray.Vars["x"].Raw == nil {
		t.Errorf("labels %v, annotations %v, spec %+v", p.Labels, p.Annotations, p.Spec)
	}

	w = newLostSite(t)
	w.expect(w.adopt("--yes", "-f", w.file("worker-1", "worker-2")), codeFailed, "does not have node worker-1", "nothing was changed")
	w.expect(w.run(t.Context(), "adopt", "edge-2", "-f", w.file()), codeUsage, "has the Provisioning edge-1")
	if w.writes > 0 {
		t.Errorf("%d writes", w.writes)
	}
	w.expect(w.adopt("--yes", "-f", w.file("PORT", w.port, "spec: {", "spec: {paused: true, ")), codeDone, "It is paused")
	if p, _, _, _ := w.found(); !p.Spec.Paused || p.Annotations[contract.AnnotationAdopting] != "" {
		t.Errorf("paused %t, annotations %v", p.Spec.Paused, p.Annotations)
	}
}

// TestAdoptVarsInSecrets: the record has digests of the present values, with the key that the controller then uses. With
// others, all nodes would be drained.
func TestAdoptVarsInSecrets(t *testing.T) {
	w := newLostSite(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "vars", Labels: map[string]string{contract.LabelVars: "true"}}, Data: map[string][]byte{"vars.yaml": []byte("password: x\n")}})
	file := w.file("vars: {x: 1}", "varsFrom: [{secretRef: {name: vars, key: vars.yaml}}]")
	w.expect(w.run(t.Context(), "adopt", "edge-1", "--yes", "-f", file), codeDone)
	w.check()
	key := &corev1.Secret{}
	if err := w.get(contract.VarsKeyName("edge-1"), key); err != nil {
		t.Fatal(err)
	}
	_, record, _, _ := w.found()
	want := secretvars.Digests(key.Data[secretvars.KeyData], map[string]json.RawMessage{"password": json.RawMessage(`"x"`)})
	var installed contract.Installed
	if err := json.Unmarshal([]byte(record.Data[contract.KeyInstalled]), &installed); err != nil || !maps.Equal(installed.Request.SecretVars, want) {
		t.Errorf("%v, digests %v, want %v", err, installed.Request.SecretVars, want)
	}
	before := string(key.Data[secretvars.KeyData])
	w.expect(w.run(t.Context(), "adopt", "edge-1", "--yes", "-f", file), codeDone)
	if err := w.get(contract.VarsKeyName("edge-1"), key); err != nil || string(key.Data[secretvars.KeyData]) != before {
		t.Errorf("a second adoption has made another key: %v", err)
	}
	if err := w.cluster.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "vars"}}); err != nil {
		t.Fatal(err)
	}
	w.expect(w.run(t.Context(), "adopt", "edge-1", "--yes", "-f", file), codeFailed, "Secret vars does not exist")
}

// TestAdoptIsContinued: after an interruption at each write, the Provisioning is paused or not there, and the next call completes it.
func TestAdoptIsContinued(t *testing.T) {
	all := newLostSite(t)
	all.expect(all.adopt("--yes"), codeDone)
	if all.writes != 7 { // create, status, two ConfigMaps, two claims, end
		t.Fatalf("%d writes", all.writes)
	}
	for n := 1; n <= all.writes; n++ {
		w := newLostSite(t)
		w.failAt = n
		w.stored = func() {
			p := &v1alpha1.Provisioning{}
			if w.get("edge-1", p) == nil && !p.Spec.Paused && w.writes < all.writes {
				t.Errorf("failure %d: the controller could start a run after write %d", n, w.writes)
			}
		}
		w.expect(w.adopt("--yes"), codeFailed, "the power is cut", "run the command again")
		w.failAt, w.writes = 0, 0
		w.stored = func() {}
		w.expect(w.adopt("--yes"), codeDone)
		w.check()
	}
}

// TestAdoptRefuses: what could take over another cluster, or what the user may not do, changes nothing.
func TestAdoptRefuses(t *testing.T) {
	of := func(change func(*v1alpha1.Provisioning)) *v1alpha1.Provisioning {
		p := provisioning("edge-1")
		change(p)
		return p
	}
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "edge-1-installed", OwnerReferences: []metav1.OwnerReference{{UID: "other", Controller: new(true)}}}}
	for name, tc := range map[string]struct {
		objects []client.Object
		change  func(*lostSite)
		args    []string
		says    string
	}{
		"another cluster is installed": {[]client.Object{of(func(p *v1alpha1.Provisioning) { hasCluster(p) })}, nil, nil, "has another cluster (1) than the servers (first)"},
		"another cluster was adopted":  {[]client.Object{of(func(p *v1alpha1.Provisioning) { p.Status.ClusterUID = "second" })}, nil, nil, "has another cluster (second)"},
		"it is being deleted":          {[]client.Object{of(func(p *v1alpha1.Provisioning) { p.DeletionTimestamp, p.Finalizers = new(metav1.Now()), []string{"x"} })}, nil, nil, "is being deleted"},
		"two marks":                    {nil, func(w *lostSite) { w.marks[1].UID = "second" }, nil, "marks of 2 clusters"},
		"no mark":                      {nil, func(w *lostSite) { w.marks = [3]contract.User{} }, nil, "no server has the mark"},
		"no hosts": {nil, func(w *lostSite) {
			if err := w.cluster.DeleteAllOf(w.t.Context(), &metal3.BareMetalHost{}, client.InNamespace("site-a")); err != nil {
				w.t.Fatal(err)
			}
		}, nil, "give a file with spec.hostNamespace with -f"},
		"no control plane":               {nil, nil, []string{"--hosts=host-2"}, "no control plane of site-a/edge-1 answers"},
		"a host is not asked":            {nil, nil, []string{"--hosts=host-1"}, "node worker-1 (10.0.0.2) of the cluster has no host"},
		"the record is of another":       {[]client.Object{foreign}, nil, nil, "ConfigMap edge-1-installed exists and does not belong to this Provisioning"},
		"no right to the status":         {nil, func(w *lostSite) { w.refused = "Provisioning" }, nil, "Your account lacks this right"},
		"no right to claim":              {nil, func(w *lostSite) { w.refused = "BareMetalHost" }, nil, "claim host host-1"},
		"no key":                         {nil, nil, []string{"--ssh-secret=none"}, "there is no Secret none in namespace site-a"},
		"the servers accept another key": {nil, nil, []string{"--ssh-user=other", "--ssh-port=1"}, "no server has the mark"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLostSite(t, tc.objects...)
			if tc.change != nil {
				tc.change(w)
			}
			w.expect(w.adopt(append(tc.args, "--yes")...), codeFailed, tc.says)
			if w.writes > 0 || len(w.claims()) > 0 {
				t.Errorf("%d writes, claims %q", w.writes, w.claims())
			}
		})
	}
	w := newLostSite(t)
	w.expect(w.adopt("--hosts=host-9"), codeUsage, "--hosts names host-9")
	w.expect(w.adopt("--dry-run=x"), codeUsage, "--dry-run")
	w.expect(w.adopt("--ask-timeout=0s"), codeUsage, "--ask-timeout")
}

// TestAdoptAnOlderRecord: a Provisioning of a backup that is older than its servers gets a record of now, and stays paused, as
// `machine restore` has left it.
func TestAdoptAnOlderRecord(t *testing.T) {
	p := provisioning("edge-1")
	p.UID, p.Spec.Paused = "first", true
	p.Status.InstalledDigest = "v3:old"
	w := newLostSite(t, p, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "edge-1-installed", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(p, v1alpha1.SchemeGroupVersion.WithKind("Provisioning"))}}, Data: map[string]string{contract.KeyInstalled: `{"nodes": [{"name": "master-1"}]}`}})
	w.expect(w.adopt("--yes", "-f", w.file()), codeDone, "It is paused", "kubectl bpa resume edge-1 -n site-a")
	now, record, _, claims := w.found()
	if !now.Spec.Paused || now.Status.ClusterUID != "" || now.ClusterUID() != "first" || now.Status.InstalledDigest == "v3:old" || now.Spec.PodSubnet != "10.244.64.0/18" {
		t.Errorf("paused %t, status %+v, spec %+v", now.Spec.Paused, now.Status, now.Spec)
	}
	if !strings.Contains(record.Data[contract.KeyInstalled], "worker-1") || !slices.Equal(claims, wantClaims) {
		t.Errorf("record %v, claims %q", record.Data, claims)
	}
}
