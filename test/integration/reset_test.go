//go:build integration

package integration

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/cli"
	"github.com/akraino-icn/bpa/pkg/contract"
)

const resets = "resets" // namespace of this file's host

// TestHostsReset runs `kubectl bpa hosts reset` at a real API server, as a user who has only the
// ClusterRole bpa-hosts-reset of config/ in the namespace. The test ends the run as Tekton does. It
// checks the rights of the task's account, and that the host loses its mark.
func TestHostsReset(t *testing.T) {
	crds := filepath.Join(moduleDir(t, "github.com/tektoncd/pipeline"), "config", "300-crds")
	must(t, "", "apply", "--server-side", "-f", metal3Kinds)
	must(t, "", "apply", "--server-side", "-f", crds)
	must(t, "", "wait", "--for=condition=Established", "--timeout=30s", "crd/pipelineruns.tekton.dev", "crd/baremetalhosts.metal3.io")
	must(t, "", "apply", "--server-side", "-n", "bpa-system", "-f", "../../config/201-people.yaml")
	must(t, "", "create", "namespace", resets)
	must(t, "", "create", "rolebinding", "ann", "-n", resets, "--clusterrole=bpa-hosts-reset", "--user=ann")
	admin := resetClient(t, "")
	createUsedHost(t, admin)

	var refused bytes.Buffer
	if code := resetAs(t, "bob", &refused); code == 0 {
		t.Errorf("a user without rights has reset a host:\n%s", &refused)
	}
	var out bytes.Buffer
	ended := make(chan int, 1)
	go func() { ended <- resetAs(t, "ann", &out) }()
	run := awaitResetRun(t, admin, ended, &out)
	checkResetAccount(t, run)
	run.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue, Reason: "Succeeded"})
	if err := admin.Status().Update(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
	host := usedHost(t, admin)
	if len(host.Annotations) > 0 || host.Spec.ConsumerRef != nil {
		t.Errorf("after the reset, the host has annotations %v and holder %v", host.Annotations, host.Spec.ConsumerRef)
	}
}

func createUsedHost(t *testing.T, admin client.Client) {
	t.Helper()
	host := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Namespace: resets, Name: "host-1", Annotations: map[string]string{contract.AnnotationUsedBy: resets + "/edge-1 gone"},
	}}
	host.Spec.ExternallyProvisioned, host.Spec.BootMACAddress = true, "02:00:00:00:09:01"
	if err := admin.Create(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	host.Status.Provisioning.State, host.Status.OperationalStatus, host.Status.PoweredOn = metal3.StateExternallyProvisioned, metal3.OperationalStatusOK, true
	host.Status.HardwareDetails = &metal3.HardwareDetails{NIC: []metal3.NIC{{Name: "eth0", MAC: "02:00:00:00:09:01", IP: "10.60.9.1"}}}
	if err := admin.Status().Update(t.Context(), host); err != nil {
		t.Fatal(err)
	}
}

func usedHost(t *testing.T, admin client.Client) *metal3.BareMetalHost {
	t.Helper()
	host := &metal3.BareMetalHost{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: resets, Name: "host-1"}, host); err != nil {
		t.Fatal(err)
	}
	return host
}

// resetAs resets the host as a user and returns the exit code.
func resetAs(t *testing.T, user string, out *bytes.Buffer) int {
	return commandAs(t, user, resets, out, "hosts", "reset", "host-1", "--yes")
}

// commandAs runs a command of `kubectl bpa` as a user and returns its exit code.
func commandAs(t *testing.T, user, namespace string, out *bytes.Buffer, args ...string) int {
	config, err := clientcmd.LoadFromFile(shared.kubeconfig)
	if err != nil {
		t.Error(err)
		return -1
	}
	for _, access := range config.AuthInfos {
		access.Impersonate = user
	}
	path := filepath.Join(t.TempDir(), user)
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Error(err)
		return -1
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: out, ErrOut: out}
	return cli.Run(ctx, append(args, "--kubeconfig", path, "-n", namespace), streams)
}

// awaitResetRun waits until the command has started the run. The host must be in quarantine then.
func awaitResetRun(t *testing.T, admin client.Client, ended <-chan int, out *bytes.Buffer) *tekton.PipelineRun {
	t.Helper()
	run := &tekton.PipelineRun{}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		if len(ended) > 0 {
			t.Fatalf("the command has ended before its run:\n%s", out)
		}
		err := admin.Get(ctx, client.ObjectKey{Namespace: resets, Name: "reset-host-1-1"}, run)
		return err == nil && !run.IsPending(), client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatal(err)
	}
	if why := usedHost(t, admin).Annotations[contract.AnnotationQuarantine]; why != "being reset by PipelineRun reset-host-1-1" {
		t.Errorf("during the run, the quarantine of the host is %q", why)
	}
	return run
}

// checkResetAccount acts as the account of the task: it stores the result, and must not reach other
// objects.
func checkResetAccount(t *testing.T, run *tekton.PipelineRun) {
	t.Helper()
	account := resetClient(t, "system:serviceaccount:"+resets+":"+contract.ServiceAccountName(run.Name, contract.TaskKubespray))
	cm := &corev1.ConfigMap{}
	if err := account.Get(t.Context(), client.ObjectKey{Namespace: resets, Name: contract.InstalledName(run.Name)}, cm); err != nil {
		t.Fatal(err)
	}
	cm.Data = map[string]string{contract.KeyHosts: `{"` + string(usedHost(t, resetClient(t, "")).UID) + `":"clean"}`}
	if err := account.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	if err := account.Get(t.Context(), client.ObjectKey{Namespace: resets, Name: contract.RequestName(run.Name)}, cm); !apierrors.IsForbidden(err) {
		t.Errorf("the task can read ConfigMap %s: %v", contract.RequestName(run.Name), err)
	}
	if err := account.Get(t.Context(), client.ObjectKey{Namespace: resets, Name: "host-1"}, &metal3.BareMetalHost{}); !apierrors.IsForbidden(err) {
		t.Errorf("the task can read the host: %v", err)
	}
}

// resetClient returns a client that acts as a user, or as the administrator if user is empty.
func resetClient(t *testing.T, user string) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", shared.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Timeout, config.Impersonate.UserName = callLimit, user
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metal3.AddToScheme, corev1.AddToScheme, tekton.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
