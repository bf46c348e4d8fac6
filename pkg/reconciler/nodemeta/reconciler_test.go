package nodemeta

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clientgotesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	logtesting "knative.dev/pkg/logging/testing"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/nodemeta"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// world is a Provisioning whose cluster has the Nodes w-1 and w-2.
type world struct {
	*testing.T
	p        *v1alpha1.Provisioning
	app      *fake.Clientset
	recorder *record.FakeRecorder
	r        *Reconciler
	secrets  cache.Indexer
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, recorder: record.NewFakeRecorder(100)}
	w.p = &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "edge-1", UID: "uid-1"}}
	w.p.Spec.NodeSets = []v1alpha1.NodeSet{{Name: "w", NodeMetadata: v1alpha1.NodeMetadata{
		Labels: map[string]string{"pool": "a"}, Taints: []v1alpha1.NodeTaint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}},
	}}}
	w.p.Status.InstalledDigest = "v3:sha256:1"
	w.p.Status.Nodes = []v1alpha1.NodeStatus{
		{Name: "w-1", NodeSet: "w", State: v1alpha1.NodeReady, HostLabels: map[string]string{corev1.LabelTopologyZone: "rack-1", "pool": "of the host"}},
		{Name: "w-2", NodeSet: "w", State: v1alpha1.NodeNotReady},
	}
	w.app = fake.NewClientset(node1("w-1"), node1("w-2"))
	provisionings := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	w.secrets = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	w.must(provisionings.Add(w.p))
	w.must(w.secrets.Add(w.kubeconfig()))
	w.r = &Reconciler{provisionings: listers.NewProvisioningLister(provisionings), secrets: corelisters.NewSecretLister(w.secrets), recorder: w.recorder,
		connect: func(access.Kubeconfig) (kubernetes.Interface, func(), error) { return w.app, func() {}, nil }}
	w.must(w.r.Promote(reconciler.UniversalBucket(), func(reconciler.Bucket, types.NamespacedName) {}))
	return w
}

func node1(name string) *corev1.Node {
	added := metav1.NewTime(time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC))
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: &added}}}}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) kubeconfig() *corev1.Secret {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bpa:edge-1:admin:12345678"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	w.must(err)
	leaf, err := x509.ParseCertificate(der)
	w.must(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	w.must(err)
	certificate := access.EncodeCertificate(leaf)
	value, err := access.Kubeconfig{Server: "https://10.60.0.11:6443", CA: certificate, Certificate: certificate, Leaf: leaf,
		Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})}.Encode()
	w.must(err)
	owner := metav1.NewControllerRef(w.p, v1alpha1.SchemeGroupVersion.WithKind("Provisioning"))
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: contract.KubeconfigName("edge-1"), OwnerReferences: []metav1.OwnerReference{*owner}},
		Data: map[string][]byte{resources.KeyKubeconfig: value}}
}

func (w *world) reconcile() error {
	w.app.ClearActions()
	return w.r.Reconcile(logtesting.TestContextWithLogger(w.T), "site/edge-1")
}

// look does what the looks at the cluster and the main reconciler do.
func (w *world) look() {
	w.Helper()
	for i, n := range w.p.Status.Nodes {
		if have, err := w.app.Tracker().Get(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "", n.Name); err == nil {
			w.p.Status.Nodes[i].AppliedMetadata = nodemeta.Applied(metadataOf(have.(*corev1.Node)))
		}
	}
}

func (w *world) node(name string) *corev1.Node {
	w.Helper()
	n, err := w.app.Tracker().Get(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "", name)
	w.must(err)
	return n.(*corev1.Node)
}

func (w *world) calls() (verbs []string) {
	for _, a := range w.app.Actions() {
		verbs = append(verbs, a.GetVerb())
	}
	return verbs
}

// TestInStep: the Nodes get what spec and hosts request, keep what others have set, and need no call after that.
func TestInStep(t *testing.T) {
	w := newWorld(t)
	w.must(w.reconcile())
	if diff := cmp.Diff([]string{"get", "patch", "get", "patch"}, w.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	n := w.node("w-1")
	delete(n.Annotations, nodemeta.Annotation)
	if diff := cmp.Diff(map[string]string{corev1.LabelHostname: "w-1", "pool": "a", corev1.LabelTopologyZone: "rack-1"}, n.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(append(node1("w-1").Spec.Taints, corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}), n.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	if event := <-w.recorder.Events; event != "Normal NodeMetadataApplied the labels, annotations and taints of w-1, w-2 are those of the spec and of the hosts again" {
		t.Errorf("event %q", event)
	}
	w = newWorld(t)
	w.must(w.reconcile())
	w.look()
	w.must(w.reconcile())
	if len(w.calls()) != 0 {
		t.Errorf("calls in step: %s", w.calls())
	}
	w.p.Spec.NodeSets[0].NodeMetadata = v1alpha1.NodeMetadata{}
	w.p.Status.Nodes[0].HostLabels = nil
	w.must(w.reconcile())
	w.look()
	was, is := node1("w-1"), w.node("w-1")
	if diff := cmp.Diff(was.Labels, is.Labels) + cmp.Diff(was.Spec, is.Spec); diff != "" || len(is.Annotations) > 0 {
		t.Errorf("nothing is wanted any more, annotations %v (-before +after):\n%s", is.Annotations, diff)
	}
	w.must(w.reconcile())
	if len(w.calls()) != 0 {
		t.Errorf("calls after the removal: %s", w.calls())
	}
}

// TestNoCall: nothing is done for nodes that are not in the cluster, and before and during what decides which they are.
func TestNoCall(t *testing.T) {
	for name, change := range map[string]func(*world){
		"not installed":  func(w *world) { w.p.Status.InstalledDigest = "" },
		"being deleted":  func(w *world) { w.p.DeletionTimestamp = &metav1.Time{Time: time.Now()} },
		"being restored": func(w *world) { w.p.Status.Restore = &v1alpha1.RestoreStatus{State: v1alpha1.RestoreRunning} },
		"being installed": func(w *world) {
			w.p.Status.Nodes = []v1alpha1.NodeStatus{{Name: "w-1", NodeSet: "w", State: v1alpha1.NodeInstalling}}
		},
		"no answer": func(w *world) {
			w.p.Status.Nodes = []v1alpha1.NodeStatus{{Name: "w-1", NodeSet: "w", State: v1alpha1.NodeUnknown}}
		},
		"standby": func(w *world) {
			w.p.Status.Nodes = []v1alpha1.NodeStatus{{Name: "w-1", NodeSet: "w", State: v1alpha1.NodeStandby}}
		},
		"no kubeconfig":    func(w *world) { w.must(w.secrets.Delete(w.kubeconfig())) },
		"a foreign Secret": func(w *world) { w.p.UID = "uid-2" },
		"a wrong kubeconfig": func(w *world) {
			s := w.kubeconfig()
			s.Data[resources.KeyKubeconfig] = []byte("x")
			w.must(w.secrets.Update(s))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			change(w)
			if err := w.reconcile(); err != nil || len(w.calls()) != 0 {
				t.Errorf("%v after %s", err, w.calls())
			}
		})
	}
}

// TestFailures: a conflict is tried again at once, a Node that is gone is left out, and another failure is reported and
// tried again.
func TestFailures(t *testing.T) {
	w := newWorld(t)
	conflicts := 0
	w.app.PrependReactor("patch", "nodes", func(clientgotesting.Action) (bool, runtime.Object, error) {
		conflicts++
		return conflicts == 1, nil, apierrors.NewConflict(corev1.Resource("nodes"), "w-1", errors.New("it has changed"))
	})
	w.must(w.app.Tracker().Delete(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "", "w-2"))
	w.must(w.reconcile())
	if diff := cmp.Diff([]string{"get", "patch", "get", "patch", "get"}, w.calls()); diff != "" || w.node("w-1").Labels["pool"] != "a" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	w = newWorld(t)
	w.app.PrependReactor("patch", "nodes", func(a clientgotesting.Action) (bool, runtime.Object, error) {
		return a.(clientgotesting.PatchAction).GetName() == "w-2", nil, errors.New("admission denied\nby a webhook " + strings.Repeat("x", 1000))
	})
	err := w.reconcile()
	if err == nil || !strings.HasPrefix(err.Error(), "node w-2: admission denied by a webhook xx") || len(err.Error()) > mostFailure {
		t.Errorf("error %v", err)
	}
	if event := <-w.recorder.Events; !strings.HasSuffix(event, "of w-1 are those of the spec and of the hosts again") {
		t.Errorf("event %q", event)
	}
	if event := <-w.recorder.Events; !strings.HasPrefix(event, "Warning NodeMetadataNotApplied the labels, annotations and taints of nodes cannot be set: node w-2: admission denied by a webhook") ||
		!strings.HasSuffix(event, ". BPA tries again") {
		t.Errorf("event %q", event)
	}
}

func TestNames(t *testing.T) {
	if got := names([]string{"a", "b", "c", "d", "e", "f", "g"}); got != "a, b, c, d, e and 2 more nodes" {
		t.Error(got)
	}
}
