package upgrade_test

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/jsonpath"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/upgrade"
)

// fakeWorkload is a workload of the cluster, or an API service.
type fakeWorkload struct {
	kind, namespace, name string
	wanted, available     int
}

// works reports whether all wanted replicas are available.
func (w fakeWorkload) works() bool { return w.available >= w.wanted }

// runs adds a workload "Deployment shop/web" or "APIService name".
func (u *upgrading) runs(what string, available, wanted int) {
	w := fakeWorkload{available: available, wanted: wanted}
	w.kind, w.name, _ = strings.Cut(what, " ")
	if namespace, name, both := strings.Cut(w.name, "/"); both {
		w.namespace, w.name = namespace, name
	}
	u.workloads[what] = &w
}

// object returns the workload as the API server has it.
func (w fakeWorkload) object() map[string]any {
	o := map[string]any{"kind": w.kind, "metadata": map[string]any{"name": w.name, "namespace": w.namespace}}
	switch w.kind {
	case "DaemonSet":
		o["status"] = map[string]any{"desiredNumberScheduled": w.wanted, "numberAvailable": w.available}
	case "APIService":
		o["metadata"] = map[string]any{"name": w.name}
		o["spec"] = map[string]any{"service": map[string]any{"name": "metrics-server"}}
		o["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Other", "status": "True"},
			map[string]any{"type": "Available", "status": map[bool]string{true: "True", false: "False"}[w.works()]}}}
	default:
		o["spec"] = map[string]any{"replicas": w.wanted}
		if w.available > 0 { // the API server leaves out a zero
			o["status"] = map[string]any{"availableReplicas": w.available}
		}
	}
	return o
}

// printWorkloads prints the workloads of the requested kinds as kubectl does.
func (u *upgrading) printWorkloads(command string, stdout io.Writer) int {
	_, rest, _ := strings.Cut(command, " get ")
	what, rest, _ := strings.Cut(rest, " ")
	_, template, _ := strings.Cut(rest, "jsonpath='")
	var items []any
	for _, w := range u.workloads {
		if slices.Contains(strings.Split(what, ","), upgrade.ResourceOf(w.kind)) {
			items = append(items, w.object())
		}
	}
	if strings.Contains(what, "replicasets") {
		items = append(items, map[string]any{"kind": "ReplicaSet", "metadata": map[string]any{"name": "web-1", "namespace": "shop",
			"ownerReferences": []any{map[string]any{"kind": "Deployment"}}}, "spec": map[string]any{"replicas": 3}, "status": map[string]any{"availableReplicas": 3}})
	}
	if strings.Contains(what, "apiservices") {
		items = append(items, map[string]any{"kind": "APIService", "metadata": map[string]any{"name": "v1."}, "spec": map[string]any{},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True"}}}})
	}
	p := jsonpath.New("out").AllowMissingKeys(true)
	if err := p.Parse(strings.TrimSuffix(template, "'")); err != nil {
		u.T.Error(err)
		return 1
	}
	var out bytes.Buffer
	if err := p.Execute(&out, map[string]any{"items": items}); err != nil {
		u.T.Error(err)
		return 1
	}
	if _, err := stdout.Write(out.Bytes()); err != nil {
		return 1 // the task has not waited for the answer
	}
	return 0
}

// after calls change when the playbook has ended.
func (u *upgrading) after(change func()) {
	inner := u.Play
	u.Play = func(c processCommand, stdout, stderr io.Writer) int {
		status := inner(c, stdout, stderr)
		u.Mu.Lock()
		defer u.Mu.Unlock()
		change()
		return status
	}
}

// stored returns the stored list.
func (u *upgrading) stored() (n upgrade.Noted) {
	u.T.Helper()
	if err := json.Unmarshal([]byte(u.Installed.Data[contract.KeyAvailable]), &n); err != nil {
		u.T.Fatal(err)
	}
	return n
}

func (u *upgrading) expectNoted(want ...string) {
	u.T.Helper()
	if diff := cmp.Diff(want, u.stored().Names); diff != "" {
		u.T.Errorf("noted (-want +got):\n%s", diff)
	}
}

func (u *upgrading) expectNothingNoted() {
	u.T.Helper()
	if text := u.Installed.Data[contract.KeyAvailable]; text != "" {
		u.T.Errorf("the list is still stored: %s", text)
	}
}
