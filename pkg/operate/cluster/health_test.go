package cluster

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
)

func TestFindTrouble(t *testing.T) {
	node := sessiontest.NodeJSON("a", "True", "")
	dns := sessiontest.PodJSON("dns", "a", "True", "")
	for _, tc := range []struct {
		name, plugin string
		objects      []string
		want         []string
	}{
		{"healthy", "flannel", []string{node, dns}, nil},
		{"node missing", "flannel", []string{dns}, []string{"node a is not registered"}},
		{"other nodes do not count", "flannel", []string{node, sessiontest.NodeJSON("b", "False", ""), dns}, nil},
		{"pods of other nodes do not count", "flannel", []string{node, dns, sessiontest.PodJSON("proxy", "b", "False", "")}, nil},
		{"node not ready", "flannel", []string{sessiontest.NodeJSON("a", "Unknown", "NodeStatusUnknown"), dns}, []string{"node a is not Ready: NodeStatusUnknown: so it is"}},
		{"node with a full disk", "flannel", []string{
			`{"kind":"Node","metadata":{"name":"a"},"status":{"conditions":[{"type":"DiskPressure","status":"True","reason":"KubeletHasDiskPressure","message":"kubelet has disk pressure"},{"type":"Ready","status":"True"}]}}`, dns},
			[]string{"node a does not accept pods: KubeletHasDiskPressure: kubelet has disk pressure"}},
		{"no network yet", "flannel", []string{sessiontest.NodeJSON("a", "False", "NetworkPluginNotReady"), dns}, []string{"node a is not Ready: NetworkPluginNotReady: so it is"}},
		{"the user provides the network", "cni", []string{sessiontest.NodeJSON("a", "False", "NetworkPluginNotReady"),
			`{"kind":"Pod","metadata":{"name":"dns"},"status":{"phase":"Pending"}}`}, nil},
		{"crashing pod with a user-provided network", "cni", []string{node, sessiontest.PodJSON("dns", "a", "False", "CrashLoopBackOff")},
			[]string{"pod kube-system/dns on a is not Ready: CrashLoopBackOff: again and again"}},
		{"no pods", "flannel", []string{node}, []string{"there is no pod in kube-system"}},
		{"finished, given up and leaving pods", "flannel", []string{node,
			`{"kind":"Pod","metadata":{"name":"job"},"status":{"phase":"Succeeded"}}`,
			`{"kind":"Pod","metadata":{"name":"evicted"},"status":{"phase":"Failed","reason":"Evicted"}}`,
			`{"kind":"Pod","metadata":{"name":"old","deletionTimestamp":"2026-11-21T09:00:00Z"},"status":{"phase":"Running"}}`}, nil},
		{"no place for a pod", "flannel", []string{node,
			`{"kind":"Pod","metadata":{"name":"dns"},"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/1 nodes"}]}}`},
			[]string{"pod kube-system/dns is not Ready: Unschedulable: 0/1 nodes"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var answer struct{ Items []object }
			if err := json.Unmarshal([]byte(sessiontest.List(tc.objects...)), &answer); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, trouble := range findTrouble([]contract.Node{{Name: "a"}}, tc.plugin, answer.Items) {
				got = append(got, trouble.What)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("troubles (-want +got):\n%s", diff)
			}
		})
	}
}

// A name from the cluster must not be executed as a command on the control plane.
func TestAwaitTakesNoOddNames(t *testing.T) {
	for _, name := range []string{"a; reboot", "$(reboot)", "a b", "", "-x", "a\nb"} {
		if got := await("condition=Ready", "pod", name); got != "" {
			t.Errorf("await(%q) = %q", name, got)
		}
	}
	if got := await("condition=Ready", "pod", "kube-proxy-x7.a"); !strings.HasSuffix(got, "pod/kube-proxy-x7.a") {
		t.Errorf("await() = %q", got)
	}
}
