package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// Site is a tenant's namespace and the lab hosts that it can claim. Its client and its kubectl are those of a user with
// nothing but the ClusterRole bpa-edit in that namespace. What this user cannot do, a test does with Admin or As. Lab, and
// the methods for machines and hosts, such as On and Holders, are always an administrator's.
type Site struct {
	client.WithWatch // of the user
	T                testing.TB
	Namespace        string // of the tenant
	Pool             string // namespace of the hosts; it can be the same
	Keep             bool   // leave the site as it is if the test fails
	kubeconfig       string // path, of the user
	admin            client.WithWatch
	folder           string // of the kubeconfigs of users
	runOn            Runner // nil: hosts are pods of the lab
}

// Runner runs a shell command on a host as root and returns its output.
type Runner func(host, command string) (string, error)

// NewTenant connects to the bootstrap cluster and creates a namespace for a tenant, and another one with lab hosts that are granted
// to it. hosts is the number of hosts with at least 8 CPUs and 16Gi. misfits is the number of hosts that are too small or in
// error. NewTenant removes all this when the test ends, and first what a killed run has left: the data of the bootstrap machine
// stay after make down.
func NewTenant(t testing.TB, namespace string, hosts, misfits int, flags ...string) *Site {
	t.Helper()
	return connect(t, namespace, poolOf(namespace)).fill(hosts, misfits, flags)
}

// New is NewTenant with the hosts in the namespace of the tenant.
func New(t testing.TB, namespace string, hosts, misfits int, flags ...string) *Site {
	t.Helper()
	return connect(t, namespace, namespace).fill(hosts, misfits, flags)
}

// NewWith is NewTenant with hosts that are no pods of the lab: enroll runs them, and registers them in the namespace s.Pool.
func NewWith(t testing.TB, namespace string, enroll func(s *Site) Runner) *Site {
	t.Helper()
	s := connect(t, namespace, poolOf(namespace))
	s.makeTenant()
	s.runOn = enroll(s)
	s.grantHosts()
	return s.enter()
}

// Resume connects to the site that a test with NewTenant and Keep has left. It is removed when the test ends.
func Resume(t testing.TB, namespace string) *Site {
	t.Helper()
	return connect(t, namespace, poolOf(namespace)).enter()
}

func poolOf(namespace string) string { return namespace + "-pool" }

// connect returns the site as an administrator has it. It is removed when the test ends.
func connect(t testing.TB, namespace, pool string) *Site {
	t.Helper()
	c := Connect(t)
	s := &Site{WithWatch: c, admin: c, T: t, Namespace: namespace, Pool: pool, kubeconfig: adminKubeconfig(), folder: t.TempDir()}
	t.Cleanup(func() {
		if t.Failed() {
			s.Dump()
			if s.Keep {
				t.Logf("the site is left as it is, with the namespaces %s and %s", s.Namespace, s.Pool)
				return
			}
		}
		s.remove()
	})
	return s
}

// fill creates the namespaces and the hosts, and returns the site as the tenant's user has it.
func (s *Site) fill(hosts, misfits int, flags []string) *Site {
	s.T.Helper()
	if s.exists(s.Namespace) || s.exists(s.Pool) {
		s.remove()
		s.Kubectl("wait", "--for=delete", "namespace/"+s.Namespace, "namespace/"+s.Pool, "--timeout=100s")
	}
	s.makeTenant()
	s.Lab(append([]string{"up", "--nodes", strconv.Itoa(hosts), "--misfits", strconv.Itoa(misfits)}, flags...)...)
	s.grantHosts()
	return s.enter()
}

// enter gives the site the rights of the tenant's user.
func (s *Site) enter() *Site {
	s.T.Helper()
	user := s.As(RoleAuthor)
	s.WithWatch, s.kubeconfig = user.WithWatch, user.kubeconfig
	return s
}

func (s *Site) exists(namespace string) bool {
	s.T.Helper()
	err := s.admin.Get(context.Background(), client.ObjectKey{Name: namespace}, &corev1.Namespace{})
	if client.IgnoreNotFound(err) != nil {
		s.T.Fatal(err)
	}
	return err == nil
}

// remove removes the site. It does not wait until the namespaces are gone.
func (s *Site) remove() {
	s.T.Helper()
	s = s.Admin()
	s.retainAll()
	s.Kubectl("delete", "provisionings", "--all", "--timeout=100s") // delete the hosts last, as on a real site
	s.Lab("down")
	s.Kubectl("delete", "namespace", s.Namespace, s.Pool, "--wait=false", "--ignore-not-found")
}

// retainAll sets the deletion policy Retain on all Provisionings. The machines are removed when the
// test ends, so a reset would only take time.
func (s *Site) retainAll() {
	s.T.Helper()
	all := &v1alpha1.ProvisioningList{}
	if err := s.List(context.Background(), all, client.InNamespace(s.Namespace)); err != nil {
		s.T.Fatal(err)
	}
	for i := range all.Items {
		s.Change(&all.Items[i], func(p *v1alpha1.Provisioning) { p.Spec.DeletionPolicy = v1alpha1.DeletionRetain })
	}
}

// State returns the state folder of the bootstrap machine.
func State() string {
	if dir := os.Getenv("BPA_STATE"); dir != "" {
		return dir
	}
	return "/var/lib/bpa"
}

func adminKubeconfig() string { return filepath.Join(State(), "kubeconfig") }

// Connect returns a client of an administrator for the bootstrap cluster with all kinds that the tests use.
func Connect(t testing.TB) client.WithWatch {
	t.Helper()
	return connectWith(t, adminKubeconfig())
}

func connectWith(t testing.TB, path string) client.WithWatch {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatalf("there is no bootstrap cluster (%v): run make up", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, metal3.AddToScheme, tekton.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	config.WarningHandlerWithContext = rest.NoWarnings{} // warnings of the webhook have tests of their own
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Lab runs the lab command for the machines of this site and returns its output.
func (s *Site) Lab(args ...string) string {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	args = append([]string{args[0], "--namespace", s.Pool}, args[1:]...)
	out, err := exec.CommandContext(ctx, filepath.Join(State(), "bin", "lab"), args...).CombinedOutput()
	if err != nil {
		s.T.Fatalf("lab %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Kubectl runs kubectl as the user in the namespace of the tenant.
func (s *Site) Kubectl(args ...string) string {
	s.T.Helper()
	out, err := s.TryKubectl("", args...)
	if err != nil {
		s.T.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TryKubectl runs kubectl as Kubectl does, but with stdin, and returns an error instead of failing
// the test.
func (s *Site) TryKubectl(stdin string, args ...string) (string, error) {
	return Kubectl(s.kubeconfig, stdin, append([]string{"--namespace", s.Namespace}, args...)...)
}

// Kubectl runs kubectl with a kubeconfig and stdin, for at most two minutes. It returns standard
// output and standard error together.
func Kubectl(kubeconfig, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(State(), "bin", "kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// Vars returns kubespray variables as JSON values by name: the variables that lab machines need,
// and those with the checksums of the lab's builds. It omits variables that follow from the depot's
// address, because render-inventory must set them.
func Vars(t testing.TB) map[string]json.RawMessage {
	t.Helper()
	raw, err := exec.Command(filepath.Join(State(), "bin", "lab"), "vars").Output()
	if err != nil {
		t.Fatalf("lab vars: %v: run make up", err)
	}
	vars := map[string]json.RawMessage{}
	if err := yaml.Unmarshal(raw, &vars); err != nil {
		t.Fatal(err)
	}
	return vars
}

// Dump logs the state of the site, so that the reason of a failed test can be found.
func (s *Site) Dump() {
	for _, args := range [][]string{
		{"get", "provisionings", "-o", "yaml"},
		{"get", "pipelineruns,taskruns,pods", "-o", "wide"},
		{"get", "baremetalhosts", "--namespace", s.Pool, "-o", "wide"},
		{"get", "events", "--sort-by=.lastTimestamp"},
		{"logs", "--namespace", "bpa-system", "deployment/bpa-controller", "--tail=60"},
	} {
		out, err := s.Admin().TryKubectl("", args...)
		s.T.Logf("$ kubectl %s (%v)\n%s", strings.Join(args, " "), err, out)
	}
}

// MAC returns the MAC address of a lab host's first NIC, from its hardware details.
func (s *Site) MAC(host string) string {
	s.T.Helper()
	bmh := &metal3.BareMetalHost{}
	if err := s.admin.Get(context.Background(), client.ObjectKey{Namespace: s.Pool, Name: host}, bmh); err != nil {
		s.T.Fatal(err)
	}
	if bmh.Status.HardwareDetails == nil || len(bmh.Status.HardwareDetails.NIC) == 0 {
		s.T.Fatalf("host %s has no NIC in its hardware details", host)
	}
	return bmh.Status.HardwareDetails.NIC[0].MAC
}

// Holders returns, for each claimed host by name, the name of the Provisioning that has claimed it.
func (s *Site) Holders() map[string]string {
	s.T.Helper()
	held := map[string]string{}
	for _, h := range s.hosts() {
		if r := h.Spec.ConsumerRef; r != nil && r.Kind == "Provisioning" {
			held[h.Name] = r.Name
		}
	}
	return held
}

// Hosts returns the names of the hosts of the site.
func (s *Site) Hosts() []string {
	s.T.Helper()
	var names []string
	for _, h := range s.hosts() {
		names = append(names, h.Name)
	}
	return names
}

func (s *Site) hosts() []metal3.BareMetalHost {
	s.T.Helper()
	hosts := &metal3.BareMetalHostList{}
	if err := s.admin.List(context.Background(), hosts, client.InNamespace(s.Pool)); err != nil {
		s.T.Fatal(err)
	}
	return hosts.Items
}

// Secret returns the value of one key of a Secret of the tenant. It fails the test if the value is empty.
func (s *Site) Secret(name, key string) []byte {
	s.T.Helper()
	secret := &corev1.Secret{}
	if err := s.Get(context.Background(), client.ObjectKey{Namespace: s.Namespace, Name: name}, secret); err != nil {
		s.T.Fatal(err)
	}
	if len(secret.Data[key]) == 0 {
		s.T.Fatalf("secret %s has no key %s", name, key)
	}
	return secret.Data[key]
}

// Runs lists the PipelineRuns of the site.
func (s *Site) Runs() []tekton.PipelineRun {
	s.T.Helper()
	runs := &tekton.PipelineRunList{}
	if err := s.List(context.Background(), runs, client.InNamespace(s.Namespace)); err != nil {
		s.T.Fatal(err)
	}
	return runs.Items
}

// describe returns a short description of a Provisioning's status for the message of a failed wait.
func describe(p *v1alpha1.Provisioning) string {
	ready := p.Status.GetCondition("Ready")
	raw, _ := json.Marshal(map[string]any{"ready": ready, "progress": p.Status.Progress, "failure": p.Status.Failure, "run": p.Status.Run})
	return fmt.Sprintf("%s/%s: %s", p.Namespace, p.Name, raw)
}
