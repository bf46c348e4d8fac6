//go:build integration

package integration

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authentication "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	clock "k8s.io/utils/clock/testing"
	knative "knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	logtesting "knative.dev/pkg/logging/testing"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/access/cluster"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	accessreconciler "github.com/akraino-icn/bpa/pkg/reconciler/access"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

const (
	accessWait = 2 * time.Minute
	// firstLife is the life of the first certificate: the shortest that Kubernetes signs. It is valid from
	// five minutes before its signature, so half of its life is over after two and a half minutes.
	firstLife = 10 * time.Minute
	afterHalf = 3 * time.Minute
)

// keeper runs the reconciler of kubeconfigs with the permissions of the controller. The real API server
// is both the bootstrap cluster and the application cluster.
type keeper struct {
	t       *testing.T
	ctx     context.Context
	name    string
	admin   kubernetes.Interface
	clock   *clock.FakePassiveClock
	events  *record.FakeRecorder
	r       *accessreconciler.Reconciler
	indexes [2]cache.Indexer
}

// TestKubeconfigUsers takes the kubeconfig of one cluster through its life against a real API server and
// a real signer: made, renewed at half of its life, rotated.
func TestKubeconfigUsers(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), accessWait)
	defer stop()
	startSigner(t)
	must(t, "", "apply", "--server-side", "-n", "bpa-system", "-f", "../../config/200-controller.yaml")
	k := newKeeper(t, ctx, "kept")

	first := k.kubeconfig(contract.KubeconfigName(k.name))
	user := k.whoami(first)
	if diff := cmp.Diff([]string{"system:authenticated"}, user.Groups); diff != "" || user.Username != first.Leaf.Subject.CommonName {
		t.Errorf("user %s, groups (-want +got):\n%s", user.Username, diff)
	}
	k.mayEverything(first)

	k.settle()
	if got := k.kubeconfig(contract.KubeconfigName(k.name)); string(got.Certificate) != string(first.Certificate) {
		t.Error("a kubeconfig that is not due was changed")
	}
	health := k.kubeconfig(contract.HealthKubeconfigName(k.name))
	k.mayOnlyCheckHealth(health)

	k.clock.SetTime(time.Now().Add(afterHalf))
	k.settle()
	renewed := k.kubeconfig(contract.KubeconfigName(k.name))
	if renewed.Leaf.Subject.CommonName != first.Leaf.Subject.CommonName || renewed.Leaf.NotAfter.Sub(first.Leaf.NotAfter) < 300*24*time.Hour {
		t.Errorf("after half of its life: %s until %s", renewed.Leaf.Subject, renewed.Leaf.NotAfter)
	}
	k.mayEverything(renewed)
	k.mayEverything(first) // it is the same user until it expires

	must(t, "", "annotate", "bpa", k.name, contract.AnnotationRotateKubeconfig+"=now")
	k.settle()
	rotated := k.kubeconfig(contract.KubeconfigName(k.name))
	if rotated.Leaf.Subject.CommonName == first.Leaf.Subject.CommonName {
		t.Errorf("the user is still %s", rotated.Leaf.Subject)
	}
	k.mayEverything(rotated)
	k.isRefused(first)
	k.isRefused(renewed)
	k.mayOnlyCheckHealth(k.kubeconfig(contract.HealthKubeconfigName(k.name)))
	k.hasBindings(rotated, health)
	k.isSteady()
}

// startSigner starts a kube-controller-manager that only signs certificates.
func startSigner(t *testing.T) {
	t.Helper()
	startControllers(t, "certificatesigningrequest-signing-controller")
}

// startControllers starts a kube-controller-manager with these controllers, which runs until the test ends.
func startControllers(t *testing.T, names ...string) {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	pki, dir := filepath.Join(shared.dir, "apiserver", "pki"), t.TempDir()
	conf := filepath.Join(pki, "controller-manager.kubeconfig")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "kube-controller-manager"), "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port), "--cert-dir="+dir,
		"--kubeconfig="+conf, "--authentication-kubeconfig="+conf, "--authorization-kubeconfig="+conf, "--leader-elect=false",
		"--controllers="+strings.Join(names, ","), "--use-service-account-credentials",
		"--service-account-private-key-file="+filepath.Join(pki, "sa.key"), "--root-ca-file="+filepath.Join(pki, "ca.crt"),
		"--cluster-signing-cert-file="+filepath.Join(pki, "ca.crt"), "--cluster-signing-key-file="+filepath.Join(pki, "ca.key"))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("log of the controllers:\n%s", text[max(0, len(text)-4000):])
		}
	})
}

// newKeeper makes a Provisioning with an installed cluster, and its kubeconfig as a run makes it.
func newKeeper(t *testing.T, ctx context.Context, name string) *keeper {
	t.Helper()
	must(t, manifest(name, one), "apply", "-f", "-")
	must(t, "", "patch", "provisioning", name, "--subresource=status", "--type=merge", "-p", `{"status": {"installedDigest": "v3:sha256:1"}}`)
	p := get(t, name)
	config, err := clientcmd.BuildConfigFromFlags("", shared.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{t: t, ctx: ctx, name: name, admin: kubernetes.NewForConfigOrDie(config), clock: clock.NewFakePassiveClock(time.Now()), events: record.NewFakeRecorder(100)}
	account := rest.CopyConfig(config)
	account.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:bpa-system:bpa-controller", Groups: []string{"system:authenticated"}}
	for i := range k.indexes {
		k.indexes[i] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	k.r = accessreconciler.New(kubernetes.NewForConfigOrDie(account), listers.NewProvisioningLister(k.indexes[0]), corelisters.NewSecretLister(k.indexes[1]),
		cluster.Connect, k.events, k.clock, rand.Reader)
	if err := k.r.Promote(reconciler.UniversalBucket(), func(reconciler.Bucket, types.NamespacedName) {}); err != nil {
		t.Fatal(err)
	}
	k.install(p, config)
	return k
}

func (k *keeper) install(p *v1alpha1.Provisioning, config *rest.Config) {
	k.t.Helper()
	key, err := resources.MakeKubeconfigKey(p, rand.Reader)
	if err != nil {
		k.t.Fatal(err)
	}
	request, err := access.ParseRequest(key.Data[resources.KeyCSR])
	if err != nil {
		k.t.Fatal(err)
	}
	u, _ := access.ParseUser(request.Subject.CommonName)
	application := cluster.New(k.admin, k.name)
	application.Lifetime = firstLife
	if err := application.Bind(k.ctx, u); err != nil {
		k.t.Fatal(err)
	}
	signed, err := application.Sign(k.ctx, request, time.Minute)
	if err != nil {
		k.t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(shared.dir, "apiserver", "pki", "ca.crt"))
	if err != nil {
		k.t.Fatal(err)
	}
	kubeconfig, err := resources.MakeKubeconfigSecret(p, resources.Access{CA: string(ca), Certificate: string(access.EncodeCertificate(signed)), Endpoint: config.Host}, key)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, s := range []*corev1.Secret{key, kubeconfig} {
		if _, err := k.admin.CoreV1().Secrets(namespace).Create(k.ctx, s, metav1.CreateOptions{}); err != nil {
			k.t.Fatal(err)
		}
	}
}

// visit updates the caches and reconciles once.
func (k *keeper) visit() time.Duration {
	k.t.Helper()
	secrets, err := k.admin.CoreV1().Secrets(namespace).List(k.ctx, metav1.ListOptions{LabelSelector: contract.LabelCluster + "=" + k.name})
	if err != nil {
		k.t.Fatal(err)
	}
	var all []any
	for i := range secrets.Items {
		all = append(all, &secrets.Items[i])
	}
	if err := errors.Join(k.indexes[0].Replace([]any{get(k.t, k.name)}, ""), k.indexes[1].Replace(all, "")); err != nil {
		k.t.Fatal(err)
	}
	err = k.r.Reconcile(logging.WithLogger(k.ctx, logtesting.TestLogger(k.t)), namespace+"/"+k.name)
	requeue, after := knative.IsRequeueKey(err)
	if err != nil && !requeue {
		k.t.Fatal(err)
	}
	return after
}

// settle reconciles until nothing is left to do before half of a life. A failed action fails the test.
func (k *keeper) settle() {
	k.t.Helper()
	for range 10 {
		if k.visit() > time.Minute {
			return
		}
		for len(k.events.Events) > 0 {
			if e := <-k.events.Events; strings.HasPrefix(e, "Warning") {
				k.t.Fatal(e)
			}
		}
	}
	k.t.Fatal("never at rest")
}

// isSteady checks that nothing is written any more.
func (k *keeper) isSteady() {
	k.t.Helper()
	before := must(k.t, "", "get", "secrets", "-l", contract.LabelCluster+"="+k.name, "-o", "jsonpath={.items[*].metadata.resourceVersion}")
	k.visit()
	if after := must(k.t, "", "get", "secrets", "-l", contract.LabelCluster+"="+k.name, "-o", "jsonpath={.items[*].metadata.resourceVersion}"); before != after {
		k.t.Errorf("the Secrets changed from %s to %s", before, after)
	}
}

func (k *keeper) kubeconfig(secret string) access.Kubeconfig {
	k.t.Helper()
	s, err := k.admin.CoreV1().Secrets(namespace).Get(k.ctx, secret, metav1.GetOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	if !metav1.IsControlledBy(s, get(k.t, k.name)) {
		k.t.Errorf("Secret %s is not deleted with the Provisioning", secret)
	}
	parsed, err := access.ParseKubeconfig(s.Data["value"])
	if err != nil {
		k.t.Fatalf("Secret %s: %v", secret, err)
	}
	return parsed
}

func (k *keeper) connect(c access.Kubeconfig) kubernetes.Interface {
	k.t.Helper()
	kube, disconnect, err := cluster.Connect(c)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(disconnect)
	return kube
}

func (k *keeper) whoami(c access.Kubeconfig) authentication.UserInfo {
	k.t.Helper()
	review, err := k.connect(c).AuthenticationV1().SelfSubjectReviews().Create(k.ctx, &authentication.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	return review.Status.UserInfo
}

func (k *keeper) mayEverything(c access.Kubeconfig) {
	k.t.Helper()
	if _, err := k.connect(c).CoreV1().Secrets("").List(k.ctx, metav1.ListOptions{Limit: 1}); err != nil {
		k.t.Errorf("the kubeconfig of %s: %v", c.Leaf.Subject, err)
	}
}

// isRefused checks that the API server refuses the user. It sees the end of the binding within a moment.
func (k *keeper) isRefused(c access.Kubeconfig) {
	k.t.Helper()
	kube, begin := k.connect(c), time.Now()
	var last error
	err := wait.PollUntilContextTimeout(k.ctx, 10*time.Millisecond, 5*time.Second, true, func(ctx context.Context) (bool, error) {
		_, last = kube.CoreV1().Secrets("").List(ctx, metav1.ListOptions{Limit: 1})
		return apierrors.IsForbidden(last), nil
	})
	if err != nil {
		k.t.Errorf("the old kubeconfig of %s is not refused: %v", c.Leaf.Subject, last)
	}
	k.t.Logf("%s is refused %s after the rotation", c.Leaf.Subject, time.Since(begin).Round(time.Millisecond))
}

// mayOnlyCheckHealth checks the three reads, and a choice of everything else.
func (k *keeper) mayOnlyCheckHealth(c access.Kubeconfig) {
	k.t.Helper()
	kube := k.connect(c)
	get := func(path string) error { return kube.Discovery().RESTClient().Get().RequestURI(path).Do(k.ctx).Error() }
	for what, err := range map[string]error{
		"get /readyz": get("/readyz"),
		"list nodes":  get("/api/v1/nodes?resourceVersion=0"),
		"list leases": get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"),
	} {
		if err != nil {
			k.t.Errorf("%s: %v", what, err)
		}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	_, createErr := kube.CoreV1().Nodes().Create(k.ctx, node, metav1.CreateOptions{})
	_, watchErr := kube.CoreV1().Nodes().Watch(k.ctx, metav1.ListOptions{})
	for what, err := range map[string]error{
		"create a node": createErr, "watch nodes": watchErr,
		"get a node":    get("/api/v1/nodes/n"),
		"list secrets":  get("/api/v1/secrets"),
		"list pods":     get("/api/v1/pods"),
		"other leases":  get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"),
		"one lease":     get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n"),
		"metrics":       get("/metrics"),
		"cluster roles": get("/apis/rbac.authorization.k8s.io/v1/clusterroles"),
		"requests":      get("/apis/certificates.k8s.io/v1/certificatesigningrequests"),
	} {
		if !apierrors.IsForbidden(err) {
			k.t.Errorf("%s: %v, want it forbidden", what, err)
		}
	}
}

// hasBindings checks that exactly these users have bindings.
func (k *keeper) hasBindings(users ...access.Kubeconfig) {
	k.t.Helper()
	all, err := k.admin.RbacV1().ClusterRoleBindings().List(k.ctx, metav1.ListOptions{LabelSelector: contract.LabelCluster + "=" + k.name})
	if err != nil {
		k.t.Fatal(err)
	}
	var got, want []string
	for _, b := range all.Items {
		got = append(got, fmt.Sprintf("%s -> %s", b.Subjects[0].Name, b.RoleRef.Name))
	}
	for _, u := range users {
		role := "cluster-admin"
		if parsed, _ := access.ParseUser(u.Leaf.Subject.CommonName); parsed.Kind == access.Health {
			role = access.HealthRole
		}
		want = append(want, fmt.Sprintf("%s -> %s", u.Leaf.Subject.CommonName, role))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("bindings (-want +got):\n%s", diff)
	}
}
