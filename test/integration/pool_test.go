//go:build integration

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	hostcache "github.com/akraino-icn/bpa/pkg/hosts/cache"
	"github.com/akraino-icn/bpa/pkg/hosts/claim"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// pool is a namespace of hosts whose administrators grant them to the namespaces of tenants.
const pool = "pool"

var tenants = []string{"tenant-a", "tenant-b"}

// TestHostsElsewhere is about hosts in another namespace than that of Provisionings: the attacks of TestAttacks on them, which
// are refused, and two clusters of one name.
func TestHostsElsewhere(t *testing.T) {
	preparePool(t)
	for _, a := range poolAttacks() {
		t.Run(a.row, func(t *testing.T) {
			if got := a.attempt(t); !strings.Contains(got, a.want) {
				t.Errorf("the answer lacks %q:\n%s", a.want, got)
			}
		})
	}
	t.Run("namesakes share a pool", namesakesShareAPool)
	t.Run("what the controller reads", tenancies)
}

// poolAttacks: the finding S4, with the hosts in another namespace. ted has only the role bpa-edit in the
// namespace tenant-a. tessa has Kubernetes' role edit there, and so acts as the account of select-hosts. Both tenants have a
// cluster edge-1.
func poolAttacks() []attack {
	get := func(user, what string) func(*testing.T) string {
		return as(user, "", "get", what, "-n", pool, "-o", "yaml")
	}
	task := func(verb string, args ...string) func(*testing.T) string {
		return as("system:serviceaccount:tenant-a:edge-1-select-hosts", "", append(append([]string{verb}, args...), "-n", pool)...)
	}
	patch := func(host, patch string) func(*testing.T) string {
		return task("patch", "baremetalhost", host, "--type=merge", "-p", patch)
	}
	reference := func(namespace string) string {
		return fmt.Sprintf(`{"spec":{"consumerRef":{"apiVersion":"bpa.akraino.org/v1alpha1","kind":"Provisioning","name":"edge-1"%s}}}`, namespace)
	}
	const held = "may only claim a free host for its own Provisioning (edge-1)" // words of the policy
	return []attack{
		{"S4: an author reads the password of a BMC", get("ted", "secret/bmc"), `cannot get resource "secrets"`},
		{"S4: an editor reads the password of a BMC", get("tessa", "secret/bmc"), `cannot get resource "secrets"`},
		{"S4: an author reads the address of a BMC", get("ted", "baremetalhosts"), `cannot list resource "baremetalhosts"`},
		{"S4: an author writes a host", as("ted", "", "annotate", "bmh", "host-1", "-n", pool, "reboot.metal3.io="), `cannot get resource "baremetalhosts"`},
		{"S4: an editor grants hosts to the namespace", as("tessa", poolPolicy, "apply", "-n", pool, "-f", "-"), `resource "hostdeploypolicies"`},
		{"S4: an editor raises the limit", as("tessa", "", "annotate", "namespace", "tenant-a", contract.AnnotationMaxHosts+"=99", "--overwrite"), `cannot patch resource "namespaces"`},
		{"S4: an author moves a Provisioning to other hosts", as("ted", "", "patch", "bpa", "edge-1", "-n", "tenant-a", "--type=merge", "-p", `{"spec":{"hostNamespace":"other"}}`), "it cannot be changed"},
		{"S4: the account of select-hosts reads the password of a BMC", task("get", "secret", "bmc"), `cannot get resource "secrets"`},
		{"S4: the account takes the host of a namesake", patch("of-b", reference(`,"namespace":"tenant-a"`)), held},
		{"S4: the account releases the host of a namesake", patch("of-b", `{"spec":{"consumerRef":null}}`), held},
		{"S4: the account labels the host of a namesake", patch("of-b", `{"metadata":{"labels":{"bpa.akraino.org/node":"x"}}}`), held},
		{"S4: the account claims a host for a namesake", patch("free", reference(`,"namespace":"tenant-b"`)), held},
		{"S4: the account claims a host for a namesake beside the hosts", patch("free", reference("")), held},
		{"S4: the account takes a host without a namespace in its consumerRef", patch("of-pool", reference(`,"namespace":"tenant-a"`)), held},
		{"S4: the account points a BMC to another server", patch("of-a", `{"spec":{"bmc":{"address":"redfish://10.9.9.9/1"}}}`), "may only change consumerRef in spec"},
		{"S4: the account gives a host an image", patch("of-a", `{"spec":{"image":{"url":"http://x/i"}}}`), "may only change consumerRef in spec"},
		{"the account claims a free host", patch("free", reference(`,"namespace":"tenant-a"`)), "patched"},
		{"the account releases its host", patch("free", `{"spec":{"consumerRef":null}}`), "patched"},
	}
}

const poolPolicy = `{apiVersion: metal3.io/v1alpha1, kind: HostDeployPolicy, metadata: {name: tenants}, spec: {hostClaimNamespaces: {names: [tenant-a, tenant-b]}}}`

// preparePool creates the namespaces in the state that they have during runs of both clusters.
func preparePool(t *testing.T) {
	t.Helper()
	must(t, "", "apply", "--server-side", "-f", metal3Kinds)
	must(t, "", "wait", "--for=condition=Established", "--timeout=30s", "crd/baremetalhosts.metal3.io", "crd/hardwaredata.metal3.io", "crd/hostdeploypolicies.metal3.io")
	for _, file := range []string{"200-task-select-hosts", "200-controller", "201-people"} {
		must(t, "", "apply", "--server-side", "-n", "bpa-system", "-f", "../../config/"+file+".yaml")
	}
	must(t, "", "create", "namespace", pool)
	must(t, poolPolicy, "apply", "-n", pool, "-f", "-")
	must(t, "", "create", "secret", "generic", "bmc", "-n", pool, "--from-literal=password=p")
	for _, tenant := range tenants {
		must(t, "", "create", "namespace", tenant)
		account := contract.ServiceAccountName("edge-1", contract.TaskSelectHosts)
		must(t, "", "create", "serviceaccount", account, "-n", tenant)
		must(t, strings.Replace(manifest("edge-1", one), "spec:\n", "spec:\n  hostNamespace: pool\n", 1), "apply", "-n", tenant, "-f", "-")
		p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "edge-1"}, Spec: v1alpha1.ProvisioningSpec{HostNamespace: pool}}
		for _, b := range resources.MakePoolBindings(p, nil) {
			must(t, "", "create", "rolebinding", b.Name, "-n", b.Namespace, "--clusterrole="+b.RoleRef.Name, "--serviceaccount="+tenant+":"+b.Subjects[0].Name)
		}
	}
	for user, roles := range map[string][]string{"ted": {"bpa-edit"}, "tessa": {"system:aggregate-to-edit", "system:aggregate-to-view", "bpa-edit", "bpa-view"}} {
		for _, role := range roles {
			must(t, "", "create", "rolebinding", user+"-"+strings.ReplaceAll(role, ":", "-"), "-n", "tenant-a", "--clusterrole="+role, "--user="+user)
		}
	}
	for n, host := range []struct{ name, reference string }{{"of-a", `namespace: tenant-a, `}, {"of-b", `namespace: tenant-b, `}, {"of-pool", ""}, {"free", "-"}} {
		spec := fmt.Sprintf("online: true, bmc: {address: 'redfish://10.9.4.%d/1', credentialsName: bmc}, bootMACAddress: '02:00:00:00:04:%02x'", n, n)
		if host.reference != "-" {
			spec += fmt.Sprintf(", consumerRef: {apiVersion: bpa.akraino.org/v1alpha1, kind: Provisioning, %sname: edge-1}", host.reference)
		}
		must(t, fmt.Sprintf("{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: %s, labels: {%s: edge-1}}, spec: {%s}}", host.name, contract.LabelCluster, spec), "create", "-n", pool, "-f", "-")
	}
	t.Cleanup(func() { // without hosts, so that other tests can delete the CRDs
		_, _ = shared.run(context.WithoutCancel(t.Context()), nil, "delete", "baremetalhosts", "--all", "-n", pool)
	})
}

// namesakesShareAPool: two tenants with a cluster of one name claim hosts of one namespace, each with the account of its own
// task, and each releases only its own.
func namesakesShareAPool(t *testing.T) {
	admin, err := accountClient(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		name := fmt.Sprintf("host-%d", n+1)
		enroll(t, t.Context(), admin, pool, n+20, name, fmt.Sprintf("02:00:00:00:05:%02x", n), fmt.Sprintf("redfish://10.9.5.%d/1", n))
		ready := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: pool}}
		if err := admin.Status().Patch(t.Context(), ready, client.RawPatch(types.MergePatchType, []byte(
			`{"status":{"errorCount":0,"errorMessage":"","operationalStatus":"OK","poweredOn":true,"provisioning":{"state":"externally provisioned","ID":"","image":{"url":""}}}}`))); err != nil {
			t.Fatal(err)
		}
	}
	request := func(tenant string, nodes ...string) contract.Request {
		r := contract.Request{Spec: contract.Spec{Provisioning: "edge-1", Namespace: tenant, Pool: pool, UID: "uid-" + tenant}}
		for _, n := range nodes {
			r.Slots = append(r.Slots, contract.Slot{Name: n, Roles: []string{contract.RoleControlPlane, contract.RoleWorker}})
		}
		return r
	}
	holders := func() string {
		return must(t, "", "get", "bmh", "host-1", "host-2", "host-3", "host-4", "-n", pool, "-o", "jsonpath={.items[*].spec.consumerRef.namespace}")
	}
	for _, tenant := range tenants {
		if _, err := claim.Make(t.Context(), poolClient(t, tenant), request(tenant, "a", "b")); err != nil {
			t.Fatalf("%s: %v", tenant, err)
		}
	}
	if got := holders(); strings.Count(got, "tenant-a") != 2 || strings.Count(got, "tenant-b") != 2 {
		t.Errorf("holders: %s", got)
	}
	if _, err := claim.Make(t.Context(), poolClient(t, "tenant-a"), request("tenant-a", "a")); err != nil { // releases its excess
		t.Error(err)
	}
	if got := holders(); strings.Count(got, "tenant-a") != 1 || strings.Count(got, "tenant-b") != 2 {
		t.Errorf("holders after tenant-a has shrunk: %s", got)
	}
	controller := actAs(t, "system:serviceaccount:bpa-system:bpa-controller")
	if released, _, err := claim.ReleaseAll(t.Context(), controller, hosts.OwnerIn(pool, "tenant-a", "edge-1"), "host-1", "host-2", "host-3", "host-4"); err != nil || len(released) != 1 {
		t.Errorf("the controller released %v, %v; want the last host of tenant-a", released, err)
	}
	if got := holders(); got != "tenant-b tenant-b" {
		t.Errorf("holders after tenant-a was deleted: %s", got)
	}
	if err := poolClient(t, "tenant-a").Get(t.Context(), client.ObjectKey{Namespace: pool, Name: "bmc"}, &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}); !apierrors.IsForbidden(err) {
		t.Errorf("the account of the task reads the Secret of a BMC: %v", err)
	}
}

// tenancies checks what the controller's account reads about tenants, with the cache that it has.
func tenancies(t *testing.T) {
	must(t, "", "annotate", "namespace", "tenant-b", contract.AnnotationMaxHosts+"=2")
	must(t, "", "create", "namespace", "stranger")
	config, _, err := accountConfig(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:bpa-system:bpa-controller", Groups: []string{"system:authenticated"}}
	cache, err := hostcache.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	ignore := func(string) {}
	if err := cache.Watch(t.Context(), func(string, string, ...types.NamespacedName) {}); err != nil {
		t.Fatal(err)
	}
	if err := cache.WatchTenants(t.Context(), ignore, ignore); err != nil {
		t.Fatal(err)
	}
	if err := cache.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for tenant, want := range map[string]string{
		"tenant-a": "", "tenant-b": "", "stranger": "no HostDeployPolicy in namespace pool grants its hosts to namespace stranger: ask an administrator for one",
	} {
		got, err := cache.Tenancy(t.Context(), hosts.OwnerIn(pool, tenant, "edge-1"))
		if err != nil || got.Refused != want {
			t.Errorf("%s: %+v, %v", tenant, got, err)
		}
		if limited := got.MaxHosts != nil; limited != (tenant == "tenant-b") || limited && (*got.MaxHosts != 2 || got.Here != 2) {
			t.Errorf("%s: %+v; want a limit of 2 for tenant-b, which holds 2", tenant, got)
		}
	}
}

// poolClient returns a client with a token of the account of select-hosts in a tenant's namespace.
func poolClient(t *testing.T, tenant string) client.WithWatch {
	t.Helper()
	token := strings.TrimSpace(must(t, "", "create", "token", contract.ServiceAccountName("edge-1", contract.TaskSelectHosts), "-n", tenant))
	config, scheme, err := accountConfig(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken, config.QPS = token, -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
