//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// checkBeforeJoin checks that the driver was installed before the node joined the cluster.
func (w *softwareStory) checkBeforeJoin(node string) {
	w.t.Helper()
	created, err := site.Kubectl(kubeconfigOf(w.t, w.s, w.p), "", "get", "node", node, "--output", "jsonpath={.metadata.creationTimestamp}")
	if err != nil {
		w.t.Fatalf("%v\n%s", err, created)
	}
	joined, err := time.Parse(time.RFC3339, strings.TrimSpace(created))
	if err != nil {
		w.t.Fatal(err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(w.s.On(hostOf(w.p, node), "stat --format %Y "+driverMarker)), 10, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	if installed := time.Unix(seconds, 0); installed.After(joined) {
		w.t.Errorf("%s joined at %s, and got its driver only at %s", node, joined, installed)
	}
}

// checkPlane checks that the control plane has no package of the workers.
func (w *softwareStory) checkPlane() {
	w.t.Helper()
	w.expectOn("master-1", "ls -d "+driverMarker+" "+toolConfig+" /var/lib/bpa/software/* 2>/dev/null || true", "")
	w.expectOn("master-1", "dpkg-query --show --showformat '${db:Status-Status}' "+tool+" 2>/dev/null || true", "")
}

// expectOn checks the output of a command on the machine of a node.
func (w *softwareStory) expectOn(node, command, want string) {
	w.t.Helper()
	if got := strings.TrimSpace(w.s.On(hostOf(w.p, node), command)); got != want {
		w.t.Errorf("%s: %s: %q, want %q", node, command, got, want)
	}
}

// bpa runs kubectl bpa. fails has texts of the output if the command is to fail; nil: it is to succeed.
func (w *softwareStory) bpa(fails []string, args ...string) string {
	w.t.Helper()
	out, err := bpa(w.t, w.s, args...)
	if (err != nil) != (fails != nil) {
		w.t.Errorf("kubectl bpa %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	for _, text := range fails {
		if !strings.Contains(out, text) {
			w.t.Errorf("kubectl bpa %s: %q is not in\n%s", strings.Join(args, " "), text, out)
		}
	}
	return out
}

// softwareRun returns the name of the newest run for the software of the cluster; empty: there is none. The
// number at its end counts all runs of the cluster, of which only the last ones are kept.
func (w *softwareStory) softwareRun() (newest string) {
	w.t.Helper()
	most := 0
	for _, run := range w.s.Runs() {
		number, err := strconv.Atoi(run.Name[strings.LastIndex(run.Name, "-")+1:])
		if err != nil {
			w.t.Fatalf("run %s has no number", run.Name)
		}
		if run.Labels[contract.LabelOperation] == contract.OperationSoftware && number > most {
			newest, most = run.Name, number
		}
	}
	return newest
}

// apply creates the Software of a cluster, and request changes it. A package is a name, name=version, or one of
// them with its disruption, such as name!Reboot.
func (w *softwareStory) apply(cluster string, packages ...string) {
	w.t.Helper()
	software := &v1alpha1.Software{}
	software.Namespace, software.Name = w.s.Namespace, w.name
	software.Spec = v1alpha1.SoftwareSpec{Cluster: cluster, WorkerSoftware: entries(packages)}
	if err := w.s.As(site.RoleSoftwareAuthor).Create(w.t.Context(), software); err != nil {
		w.t.Fatal(err)
	}
}

func (w *softwareStory) request(packages ...string) {
	w.t.Helper()
	now := &v1alpha1.Software{}
	if err := w.s.Get(w.t.Context(), client.ObjectKey{Namespace: w.s.Namespace, Name: w.name}, now); err != nil {
		w.t.Fatal(err)
	}
	before := now.DeepCopy()
	now.Spec.WorkerSoftware = entries(packages)
	if err := w.s.As(site.RoleSoftwareAuthor).Patch(w.t.Context(), now, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

func entries(packages []string) (all []v1alpha1.SoftwareEntry) {
	for _, text := range packages {
		text, disruption, _ := strings.Cut(text, "!")
		name, version, _ := strings.Cut(text, "=")
		all = append(all, v1alpha1.SoftwareEntry{Name: name, SoftwareOptions: v1alpha1.SoftwareOptions{Version: version, Disruption: disruption}})
	}
	return all
}

func rowOf(w *v1alpha1.Software, node, name string) v1alpha1.SoftwarePackageStatus {
	for _, n := range w.Status.Nodes {
		for _, p := range n.Packages {
			if n.Name == node && p.Name == name {
				return p
			}
		}
	}
	return v1alpha1.SoftwarePackageStatus{}
}

// awaitRows waits until the status of the Software has these packages. A key is "NODE PACKAGE", and a value
// "STATE" or "STATE INSTALLED"; an empty value: there is no such row.
func (w *softwareStory) awaitRows(what string, want map[string]string) *v1alpha1.Software {
	w.t.Helper()
	last := ""
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s: differences in the last status:\n%s", what, last)
		}
	}()
	return w.awaitSoftware(what, softwareLimit, func(s *v1alpha1.Software) bool {
		got := map[string]string{}
		for key := range want {
			node, name, _ := strings.Cut(key, " ")
			row := rowOf(s, node, name)
			if got[key] = row.State; strings.Contains(want[key], " ") {
				got[key] += " " + row.Installed
			}
		}
		last = cmp.Diff(want, got)
		return last == "" && s.Status.ObservedGeneration == s.Generation
	})
}

func (w *softwareStory) awaitSoftware(what string, limit time.Duration, done func(*v1alpha1.Software) bool) *v1alpha1.Software {
	w.t.Helper()
	return w.awaitNamed(w.name, what, limit, done)
}

func (w *softwareStory) awaitNamed(name, what string, limit time.Duration, done func(*v1alpha1.Software) bool) *v1alpha1.Software {
	w.t.Helper()
	begin := time.Now()
	got := site.Await(w.s, &v1alpha1.SoftwareList{}, what, limit, func(s *v1alpha1.Software) bool { return s.Name == name && done(s) })
	w.t.Logf("%s: shows after %s", what, time.Since(begin).Round(time.Second))
	return got
}

// judgedSoftware reports whether the controller has a verdict on the present spec.
func judgedSoftware(s *v1alpha1.Software) bool {
	ready := s.Status.GetCondition(apis.ConditionReady)
	return ready != nil && ready.Status != corev1.ConditionUnknown && s.Status.ObservedGeneration == s.Generation
}

// endedSoftware reports whether there is a verdict, and no package waits or is being installed.
func endedSoftware(s *v1alpha1.Software) bool {
	for _, n := range s.Status.Nodes {
		for _, p := range n.Packages {
			if p.State == string(contract.SoftwarePending) || p.State == string(contract.SoftwareInstalling) {
				return false
			}
		}
	}
	return judgedSoftware(s)
}

// withLabel sets a label of the Provisioning.
func withLabel(key, value string) site.Option {
	return func(p *v1alpha1.Provisioning) { p.Labels = map[string]string{key: value} }
}

// icnSample is one of ICN's samples.
type icnSample struct{ name, cluster, text string }

// of returns the text for a cluster. It is unchanged if the sample is for this cluster.
func (i icnSample) of(cluster string) string {
	return strings.ReplaceAll(i.text, "cluster: "+i.cluster, "cluster: "+cluster)
}

func icnSamples(t *testing.T) (all []icnSample) {
	t.Helper()
	files, err := filepath.Glob("../../config/samples/icn-*software*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("the samples %q, %v: want ICN's two", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		one := &v1alpha1.Software{}
		if err := yaml.UnmarshalStrict(raw, one); err != nil || one.Spec.Cluster != "" || one.ClusterName() == "" {
			t.Fatalf("%s: %v; want a label that names the cluster, as ICN has it", file, err)
		}
		all = append(all, icnSample{one.Name, one.ClusterName(), string(raw)})
	}
	return all
}
