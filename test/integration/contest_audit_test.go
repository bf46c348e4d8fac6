//go:build integration

package integration

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	toolswatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
)

const labelEnd = "audit-ends"

// audit records every change of every host. The resource versions of all hosts come from one etcd,
// so they can be compared with each other.
type audit struct {
	events *toolswatch.RetryWatcher
	ended  chan struct{} // closed when the last event is recorded

	history  map[string][]holding // by host, in the order of versions
	problems []string
	taken    int // number of changes from free to held
	released int // number of changes from held to free
	foreign  int // number of the changes counted in taken whose new holder is not a Provisioning
}

// holding is the holder of a host, beginning with a resource version. The holder is empty if the
// host is free.
type holding struct {
	version int64
	holder  string
}

func startAudit(t *testing.T, ctx context.Context, admin client.WithWatch) *audit {
	t.Helper()
	var list metal3.BareMetalHostList
	if err := admin.List(ctx, &list, client.InNamespace(contestNamespace)); err != nil {
		t.Fatal(err)
	}
	a := &audit{ended: make(chan struct{}), history: map[string][]holding{}}
	for i := range list.Items {
		a.record(&list.Items[i])
	}
	var err error
	a.events, err = toolswatch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, hostWatcher{admin})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(a.ended)
		for event := range a.events.ResultChan() {
			host, ok := event.Object.(*metal3.BareMetalHost)
			if !ok {
				a.problems = append(a.problems, fmt.Sprintf("the watch of the hosts failed: %v", event.Object))
				return
			}
			if event.Type == watch.Modified {
				a.record(host)
			}
			if host.Labels[labelEnd] != "" {
				return
			}
		}
	}()
	return a
}

// hostWatcher watches the hosts of the contest for a RetryWatcher.
type hostWatcher struct{ client.WithWatch }

func (w hostWatcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return w.Watch(ctx, &metal3.BareMetalHostList{}, client.InNamespace(contestNamespace), &client.ListOptions{Raw: &options})
}

func version(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// record adds the holder of a host to the history if it has changed. It adds a problem if this
// version of the host breaks a rule.
func (a *audit) record(host *metal3.BareMetalHost) {
	now := holding{version: version(host.ResourceVersion)}
	ours := false
	if ref := host.Spec.ConsumerRef; ref != nil {
		now.holder, ours = ref.Name, ref.Kind == "Provisioning"
	}
	if cluster := host.Labels[contract.LabelCluster]; ours && cluster != now.holder || !ours && cluster != "" {
		a.problems = append(a.problems, fmt.Sprintf("%s at %d: held by %q, but its label names %q", host.Name, now.version, now.holder, cluster))
	}
	was := ""
	if h := a.history[host.Name]; len(h) > 0 {
		was = h[len(h)-1].holder
	}
	switch {
	case now.holder == was:
		return
	case was == "":
		a.taken++
		if !ours {
			a.foreign++
		}
	case now.holder == "":
		a.released++
	default:
		a.problems = append(a.problems, fmt.Sprintf("%s at %d: the holder changed from %s to %s without a release", host.Name, now.version, was, now.holder))
	}
	a.history[host.Name] = append(a.history[host.Name], now)
}

// close checks that no host is held. It then ends the audit: it writes to a host, and waits until
// the watch reports this last event. It reports the problems that were recorded.
func (a *audit) close(t *testing.T, ctx context.Context, admin client.Client) *audit {
	t.Helper()
	var list metal3.BareMetalHostList
	if err := admin.List(ctx, &list, client.InNamespace(contestNamespace)); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != contestHosts {
		t.Errorf("there are %d hosts, want %d", len(list.Items), contestHosts)
	}
	for i := range list.Items {
		host := &list.Items[i]
		if host.Spec.ConsumerRef != nil {
			t.Errorf("%s is still held by %s after the contest", host.Name, host.Spec.ConsumerRef.Name)
		}
		for label := range host.Labels {
			if strings.Contains(label, "bpa.akraino.org") {
				t.Errorf("%s still has the label %s", host.Name, label)
			}
		}
	}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"now"}}}`, labelEnd)
	if err := admin.Patch(ctx, &list.Items[0], client.RawPatch("application/merge-patch+json", patch)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.ended:
	case <-ctx.Done():
		t.Fatal("timeout: the watch does not report the last write")
	}
	a.events.Stop()
	for _, problem := range a.problems[:min(len(a.problems), 20)] {
		t.Error(problem)
	}
	return a
}

// check compares a result with the history. At the version in the result, the claimant must really
// have held every host that it reported.
func (a *audit) check(t *testing.T, c completed) {
	t.Helper()
	for _, host := range c.Hosts {
		h := a.history[host]
		i, exact := slices.BinarySearchFunc(h, c.Version, func(h holding, v int64) int { return int(h.version - v) })
		if !exact {
			i--
		}
		if i < 0 || h[i].holder != c.Name {
			t.Errorf("%s reported that it held %s at version %d; the history around this version: %v", c.Name, host, c.Version, h[max(0, i-1):min(len(h), i+2)])
		}
	}
	if slices.Sort(c.Hosts); len(slices.Compact(c.Hosts)) != c.Wanted {
		t.Errorf("%s requested %d different hosts and claimed %v", c.Name, c.Wanted, c.Hosts)
	}
}
