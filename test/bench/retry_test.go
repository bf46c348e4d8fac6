//go:build e2e

package bench

import (
	"fmt"
	"testing"
	"time"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/bench/results"
	"github.com/akraino-icn/bpa/test/site"
)

// adminKubectl runs kubectl on a control plane node as the administrator of the new cluster.
const adminKubectl = "/usr/local/bin/kubectl --kubeconfig /etc/kubernetes/admin.conf "

// brokenWebhook makes the new cluster refuse the certificate request of the last task, as a site's
// own webhook does while its server is down. It applies to no other certificate request, because
// only this one has the label.
const brokenWebhook = adminKubectl + `apply -f - <<END
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: broken}
webhooks:
- name: requests.broken.example
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules:
  - {apiGroups: [certificates.k8s.io], apiVersions: [v1], resources: [certificatesigningrequests], operations: [CREATE]}
  objectSelector:
    matchLabels: {` + contract.LabelCluster + `: retry}
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
END
`

// TestBenchRetryAgainstRun installs a cluster of three nodes whose last task fails. It then removes
// the cause, and compares the automatic retry with the first run. The retry must not run the
// playbook. The times have no limit, because the load of the machine affects them.
func TestBenchRetryAgainstRun(t *testing.T) {
	s := site.New(t, "bench-retry", 3, 0)
	s.Apply(s.Provisioning("retry",
		site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))}),
		site.Worker("worker-1", v1alpha1.Worker{HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"}}),
		site.Worker("worker-2", v1alpha1.Worker{HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"}})))
	s.AwaitOn("host-1", brokenWebhook, limit)
	failed := site.Await(s, &v1alpha1.ProvisioningList{}, "the failure", limit, func(p *v1alpha1.Provisioning) bool { return p.Status.Failure != nil })
	if f := failed.Status.Failure; f.Task != contract.TaskCollectKubeconfig {
		t.Fatalf("failure %+v: want one of %s", f, contract.TaskCollectKubeconfig)
	}
	s.On("host-1", adminKubectl+"delete validatingwebhookconfiguration broken")
	site.Await(s, &v1alpha1.ProvisioningList{}, "the retry to succeed", limit, site.Ready)

	full, retry := onlyRunOf(t, s, contract.OperationInstall), onlyRunOf(t, s, contract.OperationCollect)
	const table, name, peer = "Retry of a run whose last task failed, 3 nodes, kubespray", "automatic retry", "the run that failed"
	fmt.Println()
	results.Record(t,
		results.Figure{Table: table, Name: name, Peer: peer, Value: retry.Seconds() / full.Seconds(), Goal: 0.2},
		results.Figure{Table: table, Name: name, Value: retry.Seconds(), Unit: "s"},
		results.Figure{Table: table, Name: peer, Value: full.Seconds(), Unit: "s"})
	fmt.Println()
}

// onlyRunOf returns the duration of the only run of an operation.
func onlyRunOf(t *testing.T, s *site.Site, operation string) time.Duration {
	t.Helper()
	var found []tekton.PipelineRun
	for _, run := range s.Runs() {
		if run.Labels[contract.LabelOperation] == operation {
			found = append(found, run)
		}
	}
	if len(found) != 1 || found[0].Status.StartTime == nil || found[0].Status.CompletionTime == nil {
		t.Fatalf("%d runs do %s, want one that has ended", len(found), operation)
	}
	return found[0].Status.CompletionTime.Sub(found[0].Status.StartTime.Time)
}
