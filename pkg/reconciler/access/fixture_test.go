package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	corelisters "k8s.io/client-go/listers/core/v1"
	clientgotesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	clock "k8s.io/utils/clock/testing"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	logtesting "knative.dev/pkg/logging/testing"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

const (
	site, name = "site", "edge-1"
	life       = 365 * 24 * time.Hour
	longWait   = 24 * time.Hour // a requeue after more than this time is a timer, not a retry
)

// world is a bootstrap cluster with one Provisioning, and its application cluster. The clock starts in
// the past, so that certificates are valid for the fake clock and for package x509, which uses the
// real one.
type world struct {
	t        *testing.T
	p        *v1alpha1.Provisioning
	site     *fake.Clientset
	app      *application
	clock    *clock.FakePassiveClock
	recorder *record.FakeRecorder
	r        *Reconciler
	caches   struct{ provisionings, secrets cache.Indexer }
}

// application is an application cluster: objects, and a certificate authority. Its API server knows the
// rights of users in the way that RBAC does.
type application struct {
	t       *testing.T
	tracker clientgotesting.ObjectTracker
	key     *ecdsa.PrivateKey
	ca      *x509.Certificate
	clock   *clock.FakePassiveClock
	calls   []string
	silent  error                              // the cluster does not answer
	fault   func(clientgotesting.Action) fault // of a write
	life    time.Duration
	onList  func() // is called after the next list
}

// fault is what goes wrong with a write.
type fault int

const (
	none fault = iota
	before
	after // the write succeeded, and the answer was lost
)

var errLost = errors.New("connection lost")

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clock.NewFakePassiveClock(time.Now().Add(-300 * 24 * time.Hour)), site: fake.NewClientset(), recorder: record.NewFakeRecorder(100)}
	w.p = &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: name, UID: "uid-1"}}
	w.p.Status.InstalledDigest = "v3:sha256:1"
	w.p.Status.Run = &v1alpha1.RunStatus{Name: "edge-1-install-1", CompletionTime: &metav1.Time{Time: w.clock.Now()}}
	w.app = newApplication(t, w.clock)
	w.caches.provisionings = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	w.caches.secrets = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	w.restart()
	return w
}

// restart starts the controller again.
func (w *world) restart() {
	w.r = New(w.site, listers.NewProvisioningLister(w.caches.provisionings), corelisters.NewSecretLister(w.caches.secrets), w.app.connect, w.recorder, w.clock, rand.Reader)
	if err := w.r.Promote(reconciler.UniversalBucket(), func(reconciler.Bucket, types.NamespacedName) {}); err != nil {
		w.t.Fatal(err)
	}
}

// install makes the Secrets as a run of this build does, with a user of its own.
func (w *world) install() {
	w.t.Helper()
	key, err := resources.MakeKubeconfigKey(w.p, rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	u, _ := access.UserOf(key.Data[resources.KeyCSR])
	w.app.add(access.AdminBinding(name, u))
	w.store(key)
}

// installForeign makes the Secrets as a user can, for a user in a group.
func (w *world) installForeign() {
	w.t.Helper()
	key, err := resources.MakeKubeconfigKey(w.p, rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	block, _ := pem.Decode(key.Data[resources.KeyPrivateKey])
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		w.t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "edge-1-admin", Organization: []string{"kubeadm:cluster-admins"}}}, private)
	if err != nil {
		w.t.Fatal(err)
	}
	key.Data[resources.KeyCSR] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request})
	w.store(key)
}

func (w *world) store(key *corev1.Secret) {
	w.t.Helper()
	results := resources.Access{CA: w.app.caPEM(), Certificate: string(w.app.issue(key.Data[resources.KeyCSR])), Endpoint: "https://10.0.0.1:6443"}
	kubeconfig, err := resources.MakeKubeconfigSecret(w.p, results, key)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range []*corev1.Secret{key, kubeconfig} {
		if err := w.site.Tracker().Add(s); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) secret(name string) *corev1.Secret {
	w.t.Helper()
	o, err := w.site.Tracker().Get(corev1.SchemeGroupVersion.WithResource("secrets"), site, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return o.(*corev1.Secret).DeepCopy()
}

// stored returns the kubeconfig in a Secret.
func (w *world) stored(name string) *stored {
	w.t.Helper()
	s := parse(w.secret(name))
	if s == nil {
		w.t.Fatalf("Secret %s has no usable kubeconfig", name)
	}
	return s
}

func (w *world) admin() *stored  { return w.stored(contract.KubeconfigName(name)) }
func (w *world) health() *stored { return w.stored(contract.HealthKubeconfigName(name)) }

// visit updates the caches, and reconciles once.
func (w *world) visit() (after time.Duration) {
	w.t.Helper()
	secrets, err := w.site.Tracker().List(corev1.SchemeGroupVersion.WithResource("secrets"), corev1.SchemeGroupVersion.WithKind("Secret"), site)
	if err != nil {
		w.t.Fatal(err)
	}
	var all []any
	for _, s := range secrets.(*corev1.SecretList).Items {
		if s.Labels[contract.LabelCluster] == name { // the informer selects by this label
			all = append(all, &s)
		}
	}
	if err := errors.Join(w.caches.secrets.Replace(all, ""), w.caches.provisionings.Replace([]any{w.p.DeepCopy()}, "")); err != nil {
		w.t.Fatal(err)
	}
	err = w.r.Reconcile(logging.WithLogger(w.t.Context(), logtesting.TestLogger(w.t)), site+"/"+name)
	if requeue, after := controller.IsRequeueKey(err); requeue {
		return after
	}
	if err != nil {
		w.t.Logf("error: %v", err)
		return time.Second
	}
	return 0
}

// settle reconciles until only a timer is left, and returns its time.
func (w *world) settle() time.Duration {
	w.t.Helper()
	for range 40 {
		after := w.visit()
		if after == 0 || after > longWait {
			return after
		}
		w.clock.SetTime(w.clock.Now().Add(after))
		if s := w.admin(); !w.app.allows(s.Leaf) {
			w.t.Fatalf("the stored kubeconfig of %s does not work", s.name())
		}
	}
	w.t.Fatalf("never at rest: %q", w.events())
	return 0
}

func (w *world) events() (all []string) {
	for {
		select {
		case e := <-w.recorder.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

// writes returns the calls to both clusters since the last call of writes.
func (w *world) calls() (all []string) {
	for _, a := range w.site.Actions() {
		all = append(all, a.GetVerb()+" "+a.GetResource().Resource)
	}
	all = append(all, w.app.calls...)
	w.site.ClearActions()
	w.app.calls = nil
	return all
}

func newApplication(t *testing.T, clock *clock.FakePassiveClock) *application {
	t.Helper()
	a := &application{t: t, clock: clock, life: life, tracker: clientgotesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: clock.Now().Add(-time.Hour), NotAfter: clock.Now().Add(20 * life),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if a.ca, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.key = key
	a.add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"}, Data: map[string]string{"client-ca-file": a.caPEM()}})
	return a
}

func (a *application) caPEM() string { return string(access.EncodeCertificate(a.ca)) }

func (a *application) add(o runtime.Object) {
	a.t.Helper()
	if err := a.tracker.Add(o); err != nil {
		a.t.Fatal(err)
	}
}

// issue signs a request, as kube-controller-manager does.
func (a *application) issue(request []byte) []byte {
	a.t.Helper()
	csr, err := access.ParseRequest(request)
	if err != nil {
		a.t.Fatal(err)
	}
	end := a.clock.Now().Add(a.life)
	if end.After(a.ca.NotAfter) {
		end = a.ca.NotAfter
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: csr.Subject, NotBefore: a.clock.Now().Add(-5 * time.Minute), NotAfter: end,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.ca, csr.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// connect returns a client that has the rights of the user of the kubeconfig.
func (a *application) connect(k access.Kubeconfig) (kubernetes.Interface, func(), error) {
	set := &fake.Clientset{}
	set.AddReactor("*", "*", func(action clientgotesting.Action) (bool, runtime.Object, error) { return a.answer(k, action) })
	return set, func() {}, nil
}

func (a *application) answer(k access.Kubeconfig, action clientgotesting.Action) (bool, runtime.Object, error) {
	verb, resource := action.GetVerb(), action.GetResource().Resource
	a.calls = append(a.calls, verb+" "+resource)
	if a.silent != nil {
		return true, nil, a.silent
	}
	user := k.Leaf.Subject.CommonName
	switch resource {
	case "selfsubjectreviews":
		return true, &authentication.SelfSubjectReview{Status: authentication.SelfSubjectReviewStatus{UserInfo: authentication.UserInfo{Username: user}}}, nil
	case "selfsubjectaccessreviews":
		return true, &authorization.SelfSubjectAccessReview{Status: authorization.SubjectAccessReviewStatus{Allowed: a.allows(k.Leaf)}}, nil
	}
	if review, ok := action.(clientgotesting.CreateAction); ok && resource == "subjectaccessreviews" {
		about := review.GetObject().(*authorization.SubjectAccessReview)
		allowed := slices.ContainsFunc(a.bindings(), func(b rbacv1.ClusterRoleBinding) bool { return b.Subjects[0].Name == about.Spec.User })
		return true, &authorization.SubjectAccessReview{Status: authorization.SubjectAccessReviewStatus{Allowed: allowed}}, nil
	}
	if u, _ := access.ParseUser(user); u.Kind == access.Health || !a.allows(k.Leaf) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", fmt.Errorf("user %s", user))
	}
	what := none
	if a.fault != nil && !slices.Contains([]string{"get", "list", "watch"}, verb) {
		what = a.fault(action)
	}
	if what == before {
		return true, nil, errLost
	}
	o, err := a.do(action)
	if verb == "list" && a.onList != nil {
		a.onList()
		a.onList = nil
	}
	if what == after {
		err = errLost
	}
	return true, o, err
}

func (a *application) do(action clientgotesting.Action) (runtime.Object, error) {
	if update, ok := action.(clientgotesting.UpdateAction); ok && action.GetSubresource() == "approval" {
		csr := update.GetObject().(*certificates.CertificateSigningRequest).DeepCopy()
		csr.Status.Certificate = a.issue(csr.Spec.Request)
		return csr, a.tracker.Update(action.GetResource(), csr, "")
	}
	_, o, err := clientgotesting.ObjectReaction(a.tracker)(action)
	return o, err
}

// allows reports whether RBAC gives the user of a certificate the rights of its kind.
func (a *application) allows(leaf *x509.Certificate) bool {
	if !leaf.NotAfter.After(a.clock.Now()) {
		return false
	}
	if slices.Contains(leaf.Subject.Organization, "kubeadm:cluster-admins") {
		return true
	}
	u, _ := access.ParseUser(leaf.Subject.CommonName)
	role := map[access.Kind]string{access.Admin: "cluster-admin", access.Health: "bpa-health"}[u.Kind]
	for _, b := range a.bindings() {
		if b.RoleRef.Name == role && b.Subjects[0].Name == u.String() {
			return true
		}
	}
	return false
}

func (a *application) bindings() []rbacv1.ClusterRoleBinding {
	a.t.Helper()
	all, err := a.tracker.List(rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"), rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), "")
	if err != nil {
		a.t.Fatal(err)
	}
	return all.(*rbacv1.ClusterRoleBindingList).Items
}

// users returns the names of the users that have bindings.
func (a *application) users() (names []string) {
	for _, b := range a.bindings() {
		names = append(names, b.Subjects[0].Name)
	}
	slices.Sort(names)
	return names
}
