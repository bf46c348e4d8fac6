package resources

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

type masters = []map[string]v1alpha1.Master
type workers = []map[string]v1alpha1.Worker
type needs = v1alpha1.HostRequirements

func mac(s string) *v1alpha1.MAC { m := v1alpha1.MAC(s); return &m }

func provisioning(changes ...func(*v1alpha1.Provisioning)) *v1alpha1.Provisioning {
	p := &v1alpha1.Provisioning{
		ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "edge-1", UID: "uid-1"},
		Spec:       v1alpha1.ProvisioningSpec{Masters: masters{{"m1": {HostRequirements: needs{CPU: 8}}}}},
	}
	for _, change := range changes {
		change(p)
	}
	p.SetDefaults(context.Background())
	return p
}

func TestMakeRequestSlots(t *testing.T) {
	both := []string{contract.RoleControlPlane, contract.RoleWorker}
	for name, test := range map[string]struct {
		masters masters
		workers workers
		want    []contract.Slot
	}{
		"without workers every master is one": {
			masters: masters{{"m1": {HostRequirements: needs{CPU: 8, Memory: "16Gi"}}}, {"m2": {}}},
			want:    []contract.Slot{{Name: "m1", Roles: both, Needs: contract.Needs{CPU: 8, Memory: 16 << 30}}, {Name: "m2", Roles: both}},
		},
		"masters first, MAC addresses in one notation": {
			masters: masters{{"m1": {MACAddress: mac("00-C6-14-04-61-B2")}}},
			workers: workers{{"w1": {HostRequirements: needs{CPU: 16, SRIOV: true, QAT: true}}}},
			want: []contract.Slot{
				{Name: "m1", Roles: []string{contract.RoleControlPlane}, MAC: "00:c6:14:04:61:b2"},
				{Name: "w1", Roles: []string{contract.RoleWorker}, Needs: contract.Needs{CPU: 16, SRIOV: true, QAT: true}},
			},
		},
		"a worker with a master's name is that master in both roles, with the greater need": {
			masters: masters{{"m1": {MACAddress: mac("00:c6:14:04:61:b2"), HostRequirements: needs{CPU: 8}}}},
			workers: workers{{"m1": {HostRequirements: needs{CPU: 16, Memory: "1Gi", SRIOV: true}}}},
			want:    []contract.Slot{{Name: "m1", Roles: both, MAC: "00:c6:14:04:61:b2", Needs: contract.Needs{CPU: 16, Memory: 1 << 30, SRIOV: true}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := MakeRequest(provisioning(func(p *v1alpha1.Provisioning) {
				p.Spec.Masters, p.Spec.Workers = test.masters, test.workers
			}), Depot{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Slots); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMakeRequest(t *testing.T) {
	p := provisioning(func(p *v1alpha1.Provisioning) {
		p.Labels = map[string]string{"cluster": "cluster-7"}
		p.Spec.Kubespray.Vars = map[string]apiextensionsv1.JSON{"x": {Raw: []byte(`{"y":[1]}`)}}
	})
	want := contract.Request{
		Provisioning: "edge-1", Namespace: "site", UID: "uid-1", Cluster: "cluster-7",
		Slots:             []contract.Slot{{Name: "m1", Roles: []string{"control-plane", "worker"}, Needs: contract.Needs{CPU: 8}}},
		KubernetesVersion: "1.35.4", NetworkPlugin: "flannel", PodSubnet: "10.233.64.0/18", ServiceSubnet: "10.233.0.0/18",
		SSHUser: "root", SSHPort: 22, DepotURL: "http://site:5000", DepotOfSite: true, Vars: map[string]json.RawMessage{"x": json.RawMessage(`{"y":[1]}`)},
	}
	got, err := MakeRequest(p, Depot{URL: "http://site:5000"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	p.Spec.Depot.URL = "http://own:5000"
	if got, _ := MakeRequest(p, Depot{URL: "http://site:5000"}); got.DepotURL != "http://own:5000" {
		t.Errorf("depot %s: want the spec's own", got.DepotURL)
	}
	p.Spec.Depot.Connected = ptr.To(false)
	if got, _ := MakeRequest(p, Depot{URL: "https://site:5443", CA: "the site's", Connected: true}); got.DepotCA != "" || got.Connected {
		t.Errorf("the depot of the spec has CA %q and connected %t of the site's", got.DepotCA, got.Connected)
	}
	p.Spec.Depot.URL = ""
	if got, _ := MakeRequest(p, Depot{URL: "https://site:5443", CA: "the site's", Connected: true}); got.DepotCA != "the site's" || got.DepotURL == "" || got.Connected {
		t.Errorf("depot %s, CA %q, connected %t: want the site's, closed", got.DepotURL, got.DepotCA, got.Connected)
	}
	p.Spec.Masters = masters{{"m1": {HostRequirements: needs{Memory: "much"}}}}
	if _, err := MakeRequest(p, Depot{}); err == nil || !strings.Contains(err.Error(), "m1") {
		t.Errorf("error %v: want one that names m1", err)
	}
}

// TestDigests: what makes another cluster changes both digests, what only makes another run changes the inputs alone, the rest neither.
func TestDigests(t *testing.T) {
	digests := func(p *v1alpha1.Provisioning, depot string) (string, string) {
		t.Helper()
		request, err := MakeRequest(p, Depot{URL: depot})
		if err != nil {
			t.Fatal(err)
		}
		digest, err1 := Digest(request)
		inputs, err2 := Inputs(p, request)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		return digest, inputs
	}
	digest, inputs := digests(provisioning(), "")
	for name, test := range map[string]struct {
		change                func(*v1alpha1.Provisioning)
		depot                 string
		sameDigest, sameInput bool
	}{
		"nothing":       {func(*v1alpha1.Provisioning) {}, "", true, true},
		"paused":        {func(p *v1alpha1.Provisioning) { p.Spec.Paused = true }, "", true, true},
		"plugins":       {func(p *v1alpha1.Provisioning) { p.Spec.KUDPlugins = []string{"multus"} }, "", true, true},
		"a larger host": {func(p *v1alpha1.Provisioning) { p.Spec.Masters = masters{{"m1": {HostRequirements: needs{CPU: 9}}}} }, "", false, false},
		"a version":     {func(p *v1alpha1.Provisioning) { p.Spec.Kubernetes.Version = "1.35.5" }, "", false, false},
		"the key":       {func(p *v1alpha1.Provisioning) { p.Spec.SSH.SecretName = "other" }, "", true, false},
		"the timeout":   {func(p *v1alpha1.Provisioning) { p.Spec.Timeouts.Install = &metav1.Duration{Duration: time.Hour} }, "", true, false},
		"the depot":     {func(*v1alpha1.Provisioning) {}, "http://moved:5000", true, false},
	} {
		d, i := digests(provisioning(test.change), test.depot)
		if (d == digest) != test.sameDigest || (i == inputs) != test.sameInput {
			t.Errorf("%s: same digest %t, same inputs %t; want %t, %t", name, d == digest, i == inputs, test.sameDigest, test.sameInput)
		}
	}
}

func TestRunNumber(t *testing.T) {
	for run, want := range map[string]int32{
		RunName("edge-1", "install", 17): 17, "edge-1-install-1": 1, "edge-1-install-": 0, "edge-1-install-x": 0, "": 0, "a--3": 3,
	} {
		if got := RunNumber(run); got != want {
			t.Errorf("RunNumber(%q) = %d, want %d", run, got, want)
		}
	}
}

func TestMakePipelineRun(t *testing.T) {
	p := provisioning(func(p *v1alpha1.Provisioning) {
		p.Spec.Timeouts.Install = &metav1.Duration{Duration: 3 * time.Hour}
		p.Spec.SSH.SecretName = "key"
	})
	run := MakePipelineRun(p, Run{Number: 7, Attempt: 2, Digest: "d", Inputs: "i", Retry: "r", CSR: "PEM"})

	if !metav1.IsControlledBy(run, p) || run.Name != "edge-1-install-7" || run.Namespace != "site" {
		t.Errorf("run %s/%s owned by %v", run.Namespace, run.Name, run.OwnerReferences)
	}
	for label, want := range map[string]string{
		contract.LabelCluster: "edge-1", contract.LabelOperation: "install", contract.LabelAttempt: "2", "tekton.dev/pipeline": "bpa-install",
	} {
		if got := run.Labels[label]; got != want {
			t.Errorf("label %s = %q, want %q", label, got, want)
		}
	}
	wantAnnotations := map[string]string{contract.AnnotationRequestDigest: "d", AnnotationInputs: "i", AnnotationGeneration: "0", contract.AnnotationRetry: "r"}
	if diff := cmp.Diff(wantAnnotations, run.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	// Without the tasks' timeout Tekton would end each task after an hour.
	if run.Spec.Timeouts.Pipeline.Duration != 3*time.Hour || run.Spec.Timeouts.Tasks.Duration != 3*time.Hour {
		t.Errorf("timeouts %+v: want 3h for the run and for its tasks", run.Spec.Timeouts)
	}
	for _, task := range Tasks {
		if got, want := run.GetTaskRunSpec(task).ServiceAccountName, "edge-1-"+task; got != want {
			t.Errorf("%s runs as %s, want %s", task, got, want)
		}
	}
	for _, w := range run.Spec.Workspaces {
		if w.PersistentVolumeClaim != nil || w.VolumeClaimTemplate != nil {
			t.Errorf("workspace %s needs storage", w.Name)
		}
	}
	if run.Spec.Workspaces[2].Secret.SecretName != "key" {
		t.Errorf("workspaces %+v: want the Secret key", run.Spec.Workspaces)
	}
	// Tekton itself has the last word on what is valid; ownerless, since its webhook does not look at owners either.
	run.OwnerReferences = nil
	replace := MakePipelineRun(p, Run{Operation: contract.OperationReplace, Replaces: []string{"w-1=h-1", "w-2=h-2"}, Number: 8})
	if replace.Name != "edge-1-replace-8" || replace.Annotations[AnnotationReplaces] != "w-1=h-1 w-2=h-2" || RunNumber(replace.Name) != 8 {
		t.Errorf("run %s, annotations %v", replace.Name, replace.Annotations)
	}
	run.SetDefaults(t.Context())
	if err := run.Validate(t.Context()); err != nil {
		t.Errorf("Tekton refuses the run: %v", err)
	}
}

// TestRights: every task has its account, reaches named ConfigMaps only, and nothing may be created or listed.
func TestRights(t *testing.T) {
	p := provisioning()
	got := map[string][]string{}
	for _, role := range MakeRoles(p, nil) {
		for _, rule := range role.Rules {
			got[role.Name] = append(append(got[role.Name], rule.Verbs...), rule.ResourceNames...)
			if diff := cmp.Diff([]string{"configmaps"}, rule.Resources); diff != "" {
				t.Errorf("%s (-want +got):\n%s", role.Name, diff)
			}
		}
	}
	want := map[string][]string{
		"edge-1-select-hosts":       {"get", "update", "edge-1-inventory"},
		"edge-1-render-inventory":   {"get", "update", "edge-1-inventory"},
		"edge-1-kubespray":          {"get", "update", "edge-1-known-hosts", "edge-1-progress"},
		"edge-1-collect-kubeconfig": {"get", "edge-1-known-hosts"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	bound := map[string]rbacv1.RoleRef{}
	for _, b := range MakeRoleBindings(p) {
		bound[b.Name+" to "+b.Subjects[0].Name] = b.RoleRef
	}
	role := func(kind, name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	wantBound := map[string]rbacv1.RoleRef{
		"edge-1-select-hosts to edge-1-select-hosts":             role("Role", "edge-1-select-hosts"),
		"edge-1-select-hosts-hosts to edge-1-select-hosts":       role("ClusterRole", "bpa-select-hosts"),
		"edge-1-render-inventory to edge-1-render-inventory":     role("Role", "edge-1-render-inventory"),
		"edge-1-kubespray to edge-1-kubespray":                   role("Role", "edge-1-kubespray"),
		"edge-1-collect-kubeconfig to edge-1-collect-kubeconfig": role("Role", "edge-1-collect-kubeconfig"),
	}
	if diff := cmp.Diff(wantBound, bound); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	for _, account := range MakeServiceAccounts(p) {
		if account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
			t.Errorf("%s mounts its token without being asked", account.Name)
		}
	}
}

// TestRightToSecrets: without names there is no rule, since a rule without names is for every Secret.
func TestRightToSecrets(t *testing.T) {
	if rules := MakeRoles(provisioning(), nil)[0].Rules; len(rules) != 1 {
		t.Errorf("rules without Secrets: %+v", rules)
	}
	want := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"a", "b"}, Verbs: []string{"get"}}
	rules := MakeRoles(provisioning(), []string{"a", "b"})[0].Rules
	if diff := cmp.Diff(want, rules[len(rules)-1]); diff != "" {
		t.Errorf("rule (-want +got):\n%s", diff)
	}
	for _, role := range MakeRoles(provisioning(), []string{"a"})[1:] {
		if len(role.Rules) != 1 {
			t.Errorf("%s: %+v", role.Name, role.Rules)
		}
	}
}

// TestLongestNames: the longest name that the webhook lets through gives valid names and label values everywhere.
func TestLongestNames(t *testing.T) {
	p := provisioning(func(p *v1alpha1.Provisioning) { p.Name = strings.Repeat("a", 40) })
	run := MakePipelineRun(p, Run{Number: 999})
	names := []string{run.Name, contract.KubeconfigKeyName(p.Name)}
	for _, account := range MakeServiceAccounts(p) {
		names = append(names, account.Name)
	}
	for _, name := range names {
		if errs := validation.IsDNS1123Label(name); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
	}
	for label, value := range run.Labels {
		if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
			t.Errorf("%s: %v", label, errs)
		}
	}
}

func TestKubeconfigRefusesAnothersCertificate(t *testing.T) {
	p := provisioning()
	key, err := MakeKubeconfigKey(p, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if !metav1.IsControlledBy(key, p) || !strings.Contains(string(key.Data[KeyCSR]), "CERTIFICATE REQUEST") {
		t.Errorf("key Secret %+v", key)
	}
	if strings.Contains(string(key.Data[KeyCSR]), "PRIVATE") {
		t.Error("the request, which everybody may see, holds the private key")
	}
	_, err = MakeKubeconfigSecret(p, Access{CA: "x", Certificate: "no certificate", Endpoint: "https://x"}, key.Data[KeyPrivateKey])
	if err == nil || !strings.Contains(err.Error(), "edge-1-kubeconfig-key") {
		t.Errorf("error %v: want one that names the Secret of the key", err)
	}
}
