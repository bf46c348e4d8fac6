//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
	"github.com/akraino-icn/bpa/test/year"
)

// play does what users, the site or its machines do in the step.
func (y *yearStory) play(step year.Step) {
	y.t.Helper()
	switch step.Operation {
	case year.AddDrained, year.AddRebooted:
		y.requestPackages(step.After.Packages)
	case year.RemovePackages:
		y.removePackages()
	case year.PatchSystems:
		y.cli("patch", yearCluster, "--wait")
	case year.Rotate:
		y.rotate()
	case year.LoseKubeconfig:
		y.s.Admin().Kubectl("delete", "secret", "--ignore-not-found", contract.KubeconfigName(yearCluster), contract.KubeconfigKeyName(yearCluster), contract.HealthKubeconfigName(yearCluster))
		y.cli("retry", yearCluster)
	case year.LoseSSHKey: // the run for the kubeconfig enrolls the machines again
		y.s.Admin().Kubectl("delete", "secret", "--ignore-not-found", contract.NodesKeyName(yearCluster), contract.KubeconfigName(yearCluster))
		y.cli("retry", yearCluster)
	case year.BackUp:
		y.backup = backupOf(step)
		y.cli("backup", yearCluster, "--name="+y.backup, "--wait", "--timeout="+backupLimit.String())
	case year.Restore:
		y.restore()
	case year.LoseWorker, year.LosePlane:
		y.lose(step.Argument)
	case year.Exchange:
		y.lose(step.Argument)
		y.addMachine()
	case year.Silence:
		y.silence(step.Argument)
	case year.AddOther:
		y.s.Apply(y.s.Provisioning(otherCluster, masters(1)))
	case year.RemoveOther:
		y.removeOther()
	default: // what the spec says
		y.edit(specOf(step.After))
	}
}

// addMachine adds a machine to the site, in the place of one that was lost.
func (y *yearStory) addMachine() {
	y.t.Helper()
	y.hosts++
	y.s.Lab("add", fmt.Sprintf("host-%d", y.hosts), "--cpu", "8", "--memory", "16", "--reboots")
	y.labelRacks()
}

// labelRacks gives each host the label of its rack, and makes the site turn it into the zone of the node.
func (y *yearStory) labelRacks() {
	y.t.Helper()
	y.s.Admin().Kubectl("patch", "configmap", "config-bpa", "--namespace=bpa-system", "--type=merge", `--patch={"data":{"node-labels":"`+rackLabel+`: `+corev1.LabelTopologyZone+`"}}`)
	for _, host := range y.s.Hosts() {
		y.s.Admin().Kubectl("label", "--namespace", y.s.Pool, "baremetalhost", host, "--overwrite", rackLabel+"="+rackOf(host))
	}
}

// rackOf returns the rack of a host: two of them are in one.
func rackOf(host string) string {
	number, _ := strconv.Atoi(strings.TrimPrefix(host, "host-"))
	return fmt.Sprintf("rack-%d", number/2)
}

// requestPackages requests the packages of the Software.
func (y *yearStory) requestPackages(packages []string) {
	y.t.Helper()
	err := y.s.Get(y.t.Context(), client.ObjectKey{Namespace: y.s.Namespace, Name: y.name}, &v1alpha1.Software{})
	switch {
	case err == nil:
		y.request(packages...)
	case client.IgnoreNotFound(err) == nil:
		y.apply(yearCluster, packages...)
	default:
		y.t.Fatal(err)
	}
}

// removePackages deletes the Software. Its packages must leave the machines.
func (y *yearStory) removePackages() {
	y.t.Helper()
	y.s.As(site.RoleSoftwareAuthor).Kubectl("delete", "software", y.name, "--wait=false")
	site.Await(y.s.Admin(), &corev1.ConfigMapList{}, "the record without packages", yearLimit, func(record *corev1.ConfigMap) bool {
		text := fmt.Sprint(record.Data)
		return record.Name == contract.SoftwareName(yearCluster) && !strings.Contains(text, driver) && !strings.Contains(text, tool)
	})
	for _, n := range y.p.Status.Nodes {
		if out := y.s.On(n.Host, "ls "+driverMarker+" 2>/dev/null; dpkg-query --show --showformat '${db:Status-Status}' "+tool+" 2>/dev/null; true"); strings.Contains(out, driverMarker) ||
			strings.TrimSpace(out) == "installed" {
			y.t.Errorf("%s: packages are still there: %s", n.Name, out)
		}
	}
}

// rotate rotates the kubeconfig. The old one must be refused from now on.
func (y *yearStory) rotate() {
	y.t.Helper()
	old := kubeconfigOf(y.t, y.s, y.p)
	y.cliOf(y.s.Admin(), "kubeconfig", yearCluster, "--rotate", "--to", filepath.Join(y.t.TempDir(), "new"))
	text, err := os.ReadFile(old)
	if err != nil {
		y.t.Fatal(err)
	}
	y.revoked = append(y.revoked, string(text))
}

// backupOf returns the name of the Backup that a step makes.
func backupOf(step year.Step) string { return fmt.Sprintf("year-%d", step.Number) }

// restore loses the only control plane, and restores it from the last Backup. The command reads the hosts and the record.
func (y *yearStory) restore() {
	y.t.Helper()
	y.lose("master-1")
	y.addMachine()
	site.Await(y.s, &v1alpha1.ProvisioningList{}, "the lost control plane", 3*time.Minute, func(p *v1alpha1.Provisioning) bool {
		return p.Name == yearCluster && site.NotReady("HostsLost")(p)
	})
	y.cli("restore", yearCluster, "--from="+y.backup, "--yes", "--wait", "--timeout="+yearLimit.String())
}

// silence takes a machine off the network until its node is not Ready.
func (y *yearStory) silence(node string) {
	y.t.Helper()
	host := hostOf(y.p, node)
	y.s.PowerOff(host)
	site.Await(y.s, &v1alpha1.ProvisioningList{}, node+" to be not Ready", 3*time.Minute, func(p *v1alpha1.Provisioning) bool {
		return p.Name == yearCluster && states(p)[node] == v1alpha1.NodeNotReady && p.Status.GetCondition("Ready").IsFalse()
	})
	y.s.PowerOn(host)
}

// removeOther deletes the second cluster, whose machine must be empty and free then.
func (y *yearStory) removeOther() {
	y.t.Helper()
	other := y.s.Provisioning(otherCluster)
	hosts := hostsOf(y.s, other)
	if err := y.s.Delete(y.t.Context(), other); err != nil {
		y.t.Fatal(err)
	}
	site.AwaitGone(y.s, &v1alpha1.ProvisioningList{}, other, resetLimit)
	for _, host := range hosts {
		if holder := y.s.Holders()[host]; holder == otherCluster {
			y.t.Errorf("%s is still held by %s", host, holder)
		}
		checkEmpty(y.t, y.s, host)
	}
	y.other = nil
}

// cli runs kubectl bpa as the tenant.
func (y *yearStory) cli(args ...string) {
	y.t.Helper()
	y.cliOf(y.s, args...)
}

func (y *yearStory) cliOf(s *site.Site, args ...string) {
	y.t.Helper()
	if out, err := bpaWithin(y.t, s, yearLimit, args...); err != nil {
		y.t.Fatalf("kubectl bpa %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// meanwhile begins what happens during the step. The function that it returns does what follows after the
// operation has begun.
func (y *yearStory) meanwhile(step year.Step) (after func()) {
	y.t.Helper()
	switch step.Meanwhile {
	case year.KillController:
		k := killControllers(y.t, y.s)
		y.t.Cleanup(k.stop)
		return func() {}
	case year.KillWebhook:
		return func() {
			y.s.Admin().Kubectl("delete", "pods", "--namespace=bpa-system", "--selector=app.kubernetes.io/name=bpa-webhook", "--grace-period=0", "--force")
		}
	case year.KillDepot:
		return y.killDepot
	case year.KillTask:
		return y.killTask
	case year.Pause:
		return func() {
			y.cli("pause", yearCluster)
			site.Await(y.s, &v1alpha1.ProvisioningList{}, "the pause to be seen", time.Minute, func(p *v1alpha1.Provisioning) bool {
				return p.Name == yearCluster && p.Spec.Paused && p.Status.ObservedGeneration == p.Generation
			})
			y.cli("resume", yearCluster)
		}
	case year.Cancel:
		return func() {
			y.awaitRun()
			y.cli("cancel", yearCluster)
			y.cli("retry", yearCluster)
		}
	case year.TwoEdits:
		more := step.After
		more.Workers = append(slices.Clone(more.Workers), "worker-9")
		y.edit(specOf(more))
		return func() {}
	case year.ApplyConfig:
		return y.applyConfig
	}
	return func() {}
}

// killDepot kills the depot, which its supervisor starts again.
func (y *yearStory) killDepot() {
	y.t.Helper()
	if out, err := exec.CommandContext(y.t.Context(), "pkill", "--signal", "KILL", "--exact", "depot").CombinedOutput(); err != nil {
		y.t.Fatalf("kill the depot: %v\n%s", err, out)
	}
}

// killTask kills the pod of the playbook.
func (y *yearStory) killTask() {
	y.t.Helper()
	playbook := client.MatchingLabels{contract.LabelCluster: yearCluster, "tekton.dev/pipelineTask": contract.TaskKubespray}
	site.Await(y.s, &corev1.PodList{}, "the playbook's pod", yearLimit, func(pod *corev1.Pod) bool {
		return pod.Labels[contract.LabelCluster] == yearCluster && pod.Labels["tekton.dev/pipelineTask"] == contract.TaskKubespray && pod.Status.Phase == corev1.PodRunning
	})
	if err := y.s.Admin().DeleteAllOf(y.t.Context(), &corev1.Pod{}, client.InNamespace(y.s.Namespace), playbook, client.GracePeriodSeconds(0)); err != nil {
		y.t.Fatal(err)
	}
}

// awaitRun waits for a run that is active.
func (y *yearStory) awaitRun() {
	y.t.Helper()
	last := y.p.Status.Run.Name
	site.Await(y.s, &v1alpha1.ProvisioningList{}, "a run", 3*time.Minute, func(p *v1alpha1.Provisioning) bool {
		return p.Name == yearCluster && p.Status.Run != nil && p.Status.Run.Name != last && p.Status.Run.CompletionTime == nil
	})
}

// applyConfig applies the project's configuration again, as an update without changes does.
func (y *yearStory) applyConfig() {
	y.t.Helper()
	cmd := exec.CommandContext(y.t.Context(), filepath.Join(site.State(), "bin", "machine"), "deploy")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		y.t.Fatalf("machine deploy: %v\n%s", err, out)
	}
}
