package upgrade

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// workload is a workload of the cluster, or an API service that a Service of the cluster serves.
type workload struct {
	kind, namespace, name string
	wanted, available     int // replicas, or pods of a DaemonSet. An API service has one
}

// resources are the resources of kubectl for the kinds of workloads.
var resources = map[string]string{
	"Deployment":  "deployments.apps",
	"StatefulSet": "statefulsets.apps",
	"DaemonSet":   "daemonsets.apps",
	"ReplicaSet":  "replicasets.apps",
	"APIService":  "apiservices.apiregistration.k8s.io",
}

// maxWorkloads bounds the output of kubectl in bytes: it is large enough for about 100,000 objects.
const maxWorkloads = 16 << 20

// workloadFields lets kubectl print only what parseWorkloads needs: a line for each object with its
// kind, namespace and name, the kinds of its owners, the number of wanted and available replicas of
// most kinds, the same of a DaemonSet, and the Service and the condition of an API service.
const workloadFields = `--output jsonpath='{range .items[*]}{.kind}{"\t"}{.metadata.namespace}{"\t"}{.metadata.name}{"\t"}{.metadata.ownerReferences[*].kind}{"\t"}` +
	`{.spec.replicas}{"\t"}{.status.availableReplicas}{"\t"}{.status.desiredNumberScheduled}{"\t"}{.status.numberAvailable}{"\t"}` +
	`{.spec.service.name}{"\t"}{.status.conditions[?(@.type=="Available")].status}{"\n"}{end}'`

// workloads returns the workloads of some kinds, sorted by their names.
func workloads(ctx context.Context, w *cluster.Client, kinds []string) ([]workload, error) {
	var what []string
	for _, kind := range kinds {
		what = append(what, resources[kind])
	}
	slices.Sort(what)
	raw, err := w.Ask(ctx, "get "+strings.Join(what, ",")+" --all-namespaces --request-timeout=30s "+workloadFields, maxWorkloads)
	if err != nil {
		return nil, fmt.Errorf("read the workloads of the cluster: %w", err)
	}
	return parseWorkloads(raw), nil
}

// parseWorkloads reads lines of workloadFields. It leaves out ReplicaSets with an owner, because they
// are parts of Deployments, and API services that the API server itself serves.
func parseWorkloads(raw []byte) (all []workload) {
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		field := strings.Split(lines.Text(), "\t")
		if len(field) != 10 || resources[field[0]] == "" || !session.KubernetesName.MatchString(field[2]) {
			continue
		}
		w := workload{kind: field[0], namespace: field[1], name: field[2]}
		switch w.kind {
		case "APIService":
			if field[8] == "" {
				continue
			}
			if w.wanted = 1; field[9] == "True" {
				w.available = 1
			}
		case "DaemonSet":
			w.wanted, w.available = number(field[6]), number(field[7])
		default:
			w.wanted, w.available = number(field[4]), number(field[5])
		}
		if w.kind == "ReplicaSet" && field[3] != "" || w.kind != "APIService" && !session.KubernetesName.MatchString(w.namespace) {
			continue
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b workload) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// number returns the value of a field; 0: kubectl did not print it.
func number(text string) int {
	n, _ := strconv.Atoi(text) // an absent field is empty
	return n
}

// String returns "Deployment shop/web", which identifies the workload.
func (w workload) String() string {
	if w.namespace == "" {
		return w.kind + " " + w.name
	}
	return w.kind + " " + w.namespace + "/" + w.name
}

// works reports whether all wanted replicas are available.
func (w workload) works() bool { return w.available >= w.wanted }

// state returns the workload with its numbers: "Deployment shop/web (1/2)".
func (w workload) state() string { return fmt.Sprintf("%s (%d/%d)", w, w.available, w.wanted) }

// describe returns the command that shows why the workload is not available.
func (w workload) describe() string {
	resource := strings.ToLower(w.kind)
	if w.namespace == "" {
		return "kubectl describe " + resource + " " + w.name
	}
	return "kubectl -n " + w.namespace + " describe " + resource + " " + w.name
}

// available returns the names of the workloads that have wanted replicas, all of them available, and
// the workloads that lack some.
func available(all []workload) (names []string, lacking []workload) {
	for _, w := range all {
		switch {
		case !w.works():
			lacking = append(lacking, w)
		case w.wanted > 0:
			names = append(names, w.String())
		}
	}
	return names, lacking
}

// missing returns those of the named workloads that are not available now. A workload that was
// deleted, or of which no replica is wanted any more, is not missing.
func missing(names []string, now []workload) []workload {
	named := map[string]bool{}
	for _, name := range names {
		named[name] = true
	}
	return slices.DeleteFunc(slices.Clone(now), func(w workload) bool { return !named[w.String()] || w.works() })
}

// kindsNamed returns the kinds of named workloads.
func kindsNamed(names []string) (kinds []string) {
	for kind := range resources {
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, kind+" ") }) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// listStates returns the states of the first workloads, and the number of the others.
func listStates(all []workload, most int) string {
	var texts []string
	for _, w := range all[:min(len(all), most)] {
		texts = append(texts, w.state())
	}
	if over := len(all) - most; over > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", over))
	}
	return strings.Join(texts, ", ")
}
