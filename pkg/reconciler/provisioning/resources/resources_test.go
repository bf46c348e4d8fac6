package resources

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
)

type masters = []map[string]v1alpha1.Master
type needs = v1alpha1.HostRequirements

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

func TestRunNumber(t *testing.T) {
	for run, want := range map[string]int32{
		RunName("edge-1", "install", 17): 17, "edge-1-install-1": 1, "edge-1-install-": 0, "edge-1-install-x": 0, "": 0, "a--3": 3,
	} {
		if got := RunNumber(run); got != want {
			t.Errorf("RunNumber(%q) = %d, want %d", run, got, want)
		}
	}
}

// A run that has no acceleration because an earlier attempt failed with it is slower.
func TestRunWithoutAccelerationHasTwiceTheTime(t *testing.T) {
	p := provisioning(func(p *v1alpha1.Provisioning) { p.Spec.Timeouts.Install = &metav1.Duration{Duration: time.Hour} })
	limits := MakePipelineRun(p, Run{Number: 2, Attempt: 2, Unaccelerated: true}).Spec.Timeouts
	if limits.Pipeline.Duration != 2*time.Hour || limits.Tasks.Duration != 2*time.Hour {
		t.Errorf("timeouts %+v: want 2h for the run and for its tasks", limits)
	}
}

func TestMakePipelineRun(t *testing.T) {
	p := provisioning(func(p *v1alpha1.Provisioning) {
		p.Spec.Timeouts.Install = &metav1.Duration{Duration: 3 * time.Hour}
		p.Spec.SSH.SecretName = "key"
	})
	run := convert.ToTekton(MakePipelineRun(p, Run{Number: 7, Attempt: 2, Digest: "d", Inputs: "i", Retry: "r", CSR: "PEM", Enroll: true}))

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
	wantAnnotations := map[string]string{contract.AnnotationRequestDigest: "d", AnnotationInputs: "i", runs.AnnotationGeneration: "0", contract.AnnotationRetry: "r"}
	if diff := cmp.Diff(wantAnnotations, run.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	// Without a timeout for the tasks, Tekton would end each task after an hour.
	if run.Spec.Timeouts.Pipeline.Duration != 3*time.Hour || run.Spec.Timeouts.Tasks.Duration != 3*time.Hour {
		t.Errorf("timeouts %+v: want 3h for the run and for its tasks", run.Spec.Timeouts)
	}
	for _, task := range contract.OperationOf(contract.OperationInstall).Tasks() {
		if got, want := run.GetTaskRunSpec(task.Name).ServiceAccountName, "edge-1-"+task.Name; got != want {
			t.Errorf("%s runs as %s, want %s", task.Name, got, want)
		}
	}
	for _, w := range run.Spec.Workspaces {
		if w.PersistentVolumeClaim != nil || w.VolumeClaimTemplate != nil {
			t.Errorf("workspace %s needs storage", w.Name)
		}
	}
	if run.Spec.Workspaces[2].Secret.SecretName != "edge-1-nodes-ssh-key" || run.Spec.Workspaces[3].Secret.SecretName != "key" {
		t.Errorf("workspaces %+v: want the key of the cluster, and then the Secret key", run.Spec.Workspaces)
	}
	// Tekton's own code validates the run. The run has no owner here: Tekton's webhook does not
	// check owners either.
	run.OwnerReferences = nil
	replace := MakePipelineRun(p, Run{Operation: contract.OperationAddNodes, Replaces: []string{"w-1=h-1", "w-2=h-2"}, Number: 8})
	if replace.Name != "edge-1-add-nodes-8" || replace.Annotations[AnnotationReplaces] != "w-1=h-1 w-2=h-2" || RunNumber(replace.Name) != 8 {
		t.Errorf("run %s, annotations %v", replace.Name, replace.Annotations)
	}
	run.SetDefaults(t.Context())
	if err := run.Validate(t.Context()); err != nil {
		t.Errorf("Tekton refuses the run: %v", err)
	}
}

// TestRights: every task has its own account, can access only named ConfigMaps, and cannot create
// or list anything.
func TestRights(t *testing.T) {
	p := provisioning()
	got := map[string][]string{}
	install, software := contract.OperationOf(contract.OperationInstall), contract.OperationOf(contract.OperationSoftware)
	for _, role := range append(MakeRoles(p, install.Tasks(), 6, nil), MakeRoles(p, software.Tasks(), 7, nil)...) {
		got[role.Name] = nil
		for _, rule := range role.Rules {
			got[role.Name] = append(append(got[role.Name], rule.Verbs...), rule.ResourceNames...)
			if diff := cmp.Diff([]string{"configmaps"}, rule.Resources); diff != "" {
				t.Errorf("%s (-want +got):\n%s", role.Name, diff)
			}
		}
	}
	want := map[string][]string{
		"edge-1-select-hosts":       {"get", "update", "edge-1-run-6-out", "edge-1-installed"},
		"edge-1-enroll":             {"get", "update", "edge-1-run-7-out", "get", "edge-1-known-hosts", "edge-1-installed"},
		"edge-1-render-inventory":   {"get", "update", "edge-1-run-7-out"},
		"edge-1-kubespray":          {"get", "update", "edge-1-known-hosts", "edge-1-progress", "edge-1-installed", "edge-1-software"},
		"edge-1-collect-kubeconfig": {"get", "edge-1-known-hosts"},
		"edge-1-install-plugins":    {"get", "update", "edge-1-known-hosts", "edge-1-progress", "edge-1-plugins"},
		"edge-1-install-software":   {"get", "update", "edge-1-known-hosts", "edge-1-progress", "edge-1-software"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	bound := map[string]rbacv1.RoleRef{}
	for _, b := range MakeRoleBindings(p, contract.OperationOf(contract.OperationInstall).Tasks()) {
		bound[b.Name+" to "+b.Subjects[0].Name] = b.RoleRef
	}
	role := func(kind, name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	wantBound := map[string]rbacv1.RoleRef{
		"edge-1-select-hosts to edge-1-select-hosts":             role("Role", "edge-1-select-hosts"),
		"edge-1-select-hosts-hosts to edge-1-select-hosts":       role("ClusterRole", "bpa-select-hosts"),
		"edge-1-enroll to edge-1-enroll":                         role("Role", "edge-1-enroll"),
		"edge-1-render-inventory to edge-1-render-inventory":     role("Role", "edge-1-render-inventory"),
		"edge-1-kubespray to edge-1-kubespray":                   role("Role", "edge-1-kubespray"),
		"edge-1-collect-kubeconfig to edge-1-collect-kubeconfig": role("Role", "edge-1-collect-kubeconfig"),
		"edge-1-install-plugins to edge-1-install-plugins":       role("Role", "edge-1-install-plugins"),
	}
	if diff := cmp.Diff(wantBound, bound); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	for _, account := range MakeServiceAccounts(p, contract.Tasks) {
		if account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
			t.Errorf("%s mounts its token without being asked", account.Name)
		}
	}
}

// TestRightToSecrets: if there are no names of Secrets, the Role has no rule for Secrets, because a
// rule without names would apply to every Secret.
func TestRightToSecrets(t *testing.T) {
	if rules := MakeRoles(provisioning(), contract.OperationOf(contract.OperationInstall).Tasks(), 1, nil)[0].Rules; len(rules) != 1 {
		t.Errorf("rules without Secrets: %+v", rules)
	}
	want := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"a", "b"}, Verbs: []string{"get"}}
	rules := MakeRoles(provisioning(), contract.OperationOf(contract.OperationInstall).Tasks(), 1, []string{"a", "b"})[0].Rules
	if diff := cmp.Diff(want, rules[len(rules)-1]); diff != "" {
		t.Errorf("rule (-want +got):\n%s", diff)
	}
	for _, role := range MakeRoles(provisioning(), contract.OperationOf(contract.OperationInstall).Tasks(), 1, []string{"a"})[1:] {
		if slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "secrets") }) {
			t.Errorf("%s: %+v", role.Name, role.Rules)
		}
	}
}

// TestLongestNames: the longest name that the webhook accepts gives valid names and label values
// everywhere.
func TestLongestNames(t *testing.T) {
	p := provisioning(func(p *v1alpha1.Provisioning) { p.Name = strings.Repeat("a", 40) })
	run := MakePipelineRun(p, Run{Number: 999})
	names := []string{run.Name, contract.KubeconfigKeyName(p.Name)}
	for _, account := range MakeServiceAccounts(p, contract.Tasks) {
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
	_, err = MakeKubeconfigSecret(p, Access{CA: "x", Certificate: "no certificate", Endpoint: "https://x"}, key)
	if err == nil || !strings.Contains(err.Error(), "edge-1-kubeconfig-key") {
		t.Errorf("error %v: want one that names the Secret of the key", err)
	}
}

// If a label is changed after the certificate was requested, the names of user and cluster stay. A
// kubeconfig that a user has merged into another file therefore stays valid.
func TestKubeconfigKeepsItsNames(t *testing.T) {
	p := provisioning(func(p *v1alpha1.Provisioning) { p.Labels = map[string]string{v1alpha1.LabelCluster: "north"} })
	key, err := MakeKubeconfigKey(p, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	access := Access{CA: "CA", Certificate: signed(t, key.Data[KeyCSR]), Endpoint: "https://10.0.0.1:6443"}
	p.Labels[v1alpha1.LabelCluster] = "south"
	secret, err := MakeKubeconfigSecret(p, access, key)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(secret.Data[KeyKubeconfig])
	if err != nil {
		t.Fatal(err)
	}
	if config.CurrentContext != "north-admin@north" || config.AuthInfos["north-admin"] == nil || config.Clusters["north"] == nil {
		t.Errorf("context %s, want north-admin@north", config.CurrentContext)
	}
}

// signed returns a certificate for the request, in PEM, as an API server would sign it.
func signed(t *testing.T, request []byte) string {
	t.Helper()
	block, _ := pem.Decode(request)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: csr.Subject, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, csr.PublicKey, ca)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// A Provisioning that was stored without the webhook has no defaults. The run must use the same
// default Secret that the controller has checked.
func TestRunOfAProvisioningWithoutDefaults(t *testing.T) {
	run := MakePipelineRun(&v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "edge-1"}}, Run{Number: 1, Enroll: true})
	for _, w := range run.Spec.Workspaces {
		if w.Name == contract.WorkspaceSiteSSH && w.Secret.SecretName != v1alpha1.DefaultSSHSecret {
			t.Errorf("the key is in Secret %q, want %s", w.Secret.SecretName, v1alpha1.DefaultSSHSecret)
		}
	}
}
