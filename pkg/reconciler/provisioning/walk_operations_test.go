package provisioning

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/upgrade"
	"github.com/akraino-icn/bpa/test/year"
)

func current(w *simSite, run string) *tekton.PipelineRun {
	return simStored[*tekton.PipelineRun](w.server, kindRun, run)
}

func (w *simSite) provisioning(cluster string) *v1alpha1.Provisioning {
	return simStored[*v1alpha1.Provisioning](w.server, kindProvisioning, cluster)
}

// specOf is the spec of a world.
func specOf(world year.World) v1alpha1.ProvisioningSpec {
	s := v1alpha1.ProvisioningSpec{KUDPlugins: slices.Clone(world.Plugins), ReplacePolicy: v1alpha1.ReplaceAny}
	for i := range world.Planes {
		s.Masters = append(s.Masters, map[string]v1alpha1.Master{"master-" + strconv.Itoa(i+1): {}})
	}
	for _, name := range world.Workers {
		s.Workers = append(s.Workers, map[string]v1alpha1.Worker{name: {}})
	}
	s.NodeSets = []v1alpha1.NodeSet{{Name: "pool", Count: v1alpha1.NodeCount{Active: int32(world.Pool), Standby: int32(world.Standby)}}}
	if world.PoolVariable != "" {
		s.NodeSets[0].Vars = map[string]apiextensionsv1.JSON{year.Draining: {Raw: []byte(world.PoolVariable)}}
	}
	for name, value := range world.Variables {
		if s.Kubespray.Vars == nil {
			s.Kubespray.Vars = map[string]apiextensionsv1.JSON{}
		}
		s.Kubespray.Vars[name] = apiextensionsv1.JSON{Raw: []byte(value)}
	}
	s.Kubernetes.Version = world.Kubernetes
	return s
}

// apply makes a Provisioning, or changes its spec.
func (w *simSite) apply(cluster string, spec v1alpha1.ProvisioningSpec) {
	next := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: cluster, Finalizers: []string{fin}}}
	old := w.provisioning(cluster)
	if old != nil {
		next = old.DeepCopy()
		spec.Paused = old.Spec.Paused
	}
	next.Spec = spec
	next.SetDefaults(w.ctx)
	if old == nil || !equality.Semantic.DeepEqual(old.Spec, next.Spec) {
		next.Generation++
		w.server.set(kindProvisioning, next)
	}
}

// giveHealth lets the controller of the accesses store the credentials for the looks at a cluster, after its first run.
func (w *simSite) giveHealth(cluster string) {
	p, name := w.provisioning(cluster), contract.HealthKubeconfigName(cluster)
	if p == nil || w.server.objects[kindSecret][name] != nil || w.server.objects[kindSecret][contract.KubeconfigName(cluster)] == nil {
		return
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: name, Labels: map[string]string{contract.LabelCluster: cluster}}}
	secret.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(p, v1alpha1.SchemeGroupVersion.WithKind("Provisioning"))}
	w.server.set(kindSecret, secret)
}

// want applies all resources of a world.
func (w *simSite) want(world year.World) {
	spec := specOf(world)
	if w.secretly {
		w.hide(&spec, world.Variables[year.Draining])
	}
	w.apply(name, spec)
	software := &v1alpha1.Software{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "packages"}, Spec: v1alpha1.SoftwareSpec{Cluster: name}}
	old := simStored[*v1alpha1.Software](w.server, kindSoftware, software.Name)
	if old != nil {
		software = old.DeepCopy()
		software.Spec.WorkerSoftware = nil
	}
	for _, entry := range world.Packages {
		name, disruption, _ := strings.Cut(entry, "!")
		software.Spec.WorkerSoftware = append(software.Spec.WorkerSoftware, v1alpha1.SoftwareEntry{Name: name, SoftwareOptions: v1alpha1.SoftwareOptions{Disruption: disruption}})
	}
	if old != nil && !equality.Semantic.DeepEqual(old.Spec, software.Spec) || old == nil && len(world.Packages) > 0 {
		w.server.set(kindSoftware, software)
	}
}

// annotate sets an annotation of the cluster to a value that it has never had.
func (w *simSite) annotate(annotation, prefix string) string {
	w.asked++
	value := prefix + strconv.Itoa(w.asked)
	w.say("annotation " + annotation + " " + value)
	simChange(w.server, kindProvisioning, name, func(p *v1alpha1.Provisioning) {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[annotation] = value
	})
	return value
}

func (w *simSite) pauseWork(paused bool) {
	w.say(fmt.Sprintf("spec.paused is %t", paused))
	simChange(w.server, kindProvisioning, name, func(p *v1alpha1.Provisioning) {
		p.Spec.Paused = paused
		p.Generation++
	})
}

// react does what a user does about a cluster that waits for one: a run that was cancelled is tried again. A machine in
// quarantine that still works, and whose node cannot be drained, is switched off. A standby for which there was no host
// when the spec requested it is claimed by another run: the controller only reports it.
func (w *simSite) react() bool {
	p := w.provisioning(name)
	if p == nil {
		return false
	}
	failed := ""
	if p.Status.Failure != nil {
		failed = p.Status.Failure.Reason
	}
	switch {
	case failed == string(contract.ReasonResetIncomplete) && w.switchOff():
		w.annotate(contract.AnnotationRetry, "retry-")
	case failed == string(contract.ReasonCancelled):
		w.annotate(contract.AnnotationRetry, "retry-")
	case w.softwareCancelled():
		w.annotate(contract.AnnotationSoftware, "again-")
	case w.claimed != p.Generation && p.Status.IsReady() && strings.Contains(p.Status.GetCondition(v1alpha1.ConditionHostsClaimed).Message, "standby hosts missing"):
		w.claimed = p.Generation
		w.annotate(contract.AnnotationRetry, "retry-")
	default:
		return false
	}
	return true
}

// switchOff switches off the machines in quarantine that work. It reports whether there were any.
func (w *simSite) switchOff() (done bool) {
	for _, h := range simList[*metal3.BareMetalHost](w.server, kindHost) {
		m := w.machines[string(h.UID)]
		if _, lost := h.Annotations[contract.AnnotationQuarantine]; lost && m.answers() {
			w.say(h.Name + " is switched off")
			m.dead, done = true, true
		}
	}
	return done
}

// softwareCancelled reports whether the newest run for packages was cancelled.
func (w *simSite) softwareCancelled() bool {
	var newest *tekton.PipelineRun
	for _, run := range simList[*tekton.PipelineRun](w.server, kindRun) {
		ours := run.Labels[contract.LabelCluster] == name && run.Labels[contract.LabelOperation] == contract.OperationSoftware
		if ours && (newest == nil || resources.RunNumber(run.Name) > resources.RunNumber(newest.Name)) {
			newest = run
		}
	}
	return newest != nil && newest.IsCancelled()
}

// play lets users do what the step says, and something else happen meanwhile.
func (w *simSite) play(step year.Step) {
	w.operation = step.Operation
	switch step.Operation {
	case year.LoseWorker, year.LosePlane:
		w.lose(step.Argument, w.random.IntN(3))
	case year.Exchange:
		m := w.clusters[name].nodes[step.Argument]
		w.vanish(m)
		w.newHost(m.host)
	case year.Silence:
		w.clusters[name].nodes[step.Argument].silent = true
	case year.RemoveWorker:
		if m := w.clusters[name].nodes[step.Argument]; m != nil && w.percent(20) {
			w.say(m.host + " of " + step.Argument + " is silent")
			m.silent = true
		}
	case year.BackUp:
		w.backUp()
	case year.Restore:
		w.ruin()
	case year.LoseKubeconfig:
		w.server.remove(kindSecret, contract.KubeconfigName(name))
	case year.LoseSSHKey: // the run for the kubeconfig needs the other key
		w.server.remove(kindSecret, contract.NodesKeyName(name))
		w.server.remove(kindSecret, contract.KubeconfigName(name))
	case year.PatchSystems:
		w.annotate(contract.AnnotationPatch, "patch-")
	case year.AddOther:
		w.apply(otherName, v1alpha1.ProvisioningSpec{Masters: []map[string]v1alpha1.Master{{"other-1": {}}}})
	case year.RemoveOther:
		simChange(w.server, kindProvisioning, otherName, func(p *v1alpha1.Provisioning) { p.DeletionTimestamp = &metav1.Time{Time: w.now} })
	}
	if step.Meanwhile == year.TwoEdits {
		first := step.After
		first.Pool, first.Workers = 1+w.random.IntN(2), []string{"worker-1"}
		w.want(first)
		for range w.random.IntN(2) {
			w.round()
		}
	}
	w.want(step.After)
	w.world = step.After
}

// meanwhile lets something happen while the controller and its runs work: what the step says, and more by chance.
func (w *simSite) meanwhile(event string) {
	w.rounds(12)
	w.happen(event)
	for w.percent(25) {
		w.rounds(10)
		w.happen([]string{year.KillController, year.KillTask, year.KillWebhook, year.Cancel, year.Pause, year.ApplyConfig, silence, blockDrain}[w.random.IntN(8)])
	}
}

// Events that package year does not have.
const (
	silence    = "a machine of the cluster is silent for a while"
	blockDrain = "a drain is blocked once"
)

// rounds lets the site work for a few rounds.
func (w *simSite) rounds(most int) {
	for range w.random.IntN(most) {
		w.round()
	}
}

func (w *simSite) happen(event string) {
	if event == "" {
		return
	}
	w.say("meanwhile: " + event)
	runs := slices.DeleteFunc(w.activeRuns(), func(r *tekton.PipelineRun) bool {
		return r.Labels[contract.LabelCluster] != name && !(event == year.KillTask && touchesOther(w.operation))
	})
	switch event {
	case year.KillController, year.KillWebhook:
		for range 1 + w.random.IntN(3) {
			w.client.left, w.client.fault = 1+w.random.IntN(15), simFault(w.random.IntN(int(faults)))
			w.rounds(15)
		}
	case year.KillDepot:
		w.depotFails = 1 + w.random.IntN(2)
	case year.KillTask:
		for _, r := range runs {
			w.tick(r, true)
		}
	case year.Pause:
		w.pauseWork(true)
		w.rounds(40)
		w.pauseWork(false)
	case year.Cancel:
		for _, r := range runs {
			w.say("cancel " + r.Name)
			simChange(w.server, kindRun, r.Name, func(r *tekton.PipelineRun) { r.Spec.Status = tekton.PipelineRunSpecStatusCancelled })
		}
	case year.ApplyConfig:
		w.restart()
	case silence:
		w.silence()
	case blockDrain:
		w.drainFails = 1
	}
}

// silence lets a machine of the cluster be silent for a while.
func (w *simSite) silence() {
	nodes := slices.Sorted(maps.Keys(w.clusters[name].nodes))
	m := w.clusters[name].nodes[nodes[w.random.IntN(len(nodes))]]
	if !m.answers() {
		return
	}
	m.silent = true
	w.say(m.host + " is silent")
	w.rounds(30)
	if m.silent = false; !m.dead {
		w.say(m.host + " is back")
	}
}

// lose loses the machine of a node.
func (w *simSite) lose(node string, how int) {
	m := w.clusters[name].nodes[node]
	w.say(fmt.Sprintf("%s of %s is lost: %s", m.host, node, []string{"dead and in quarantine", "dead and deleted", "in quarantine"}[how]))
	if m.dead = how < 2; how == 1 {
		w.vanish(m)
		return
	}
	simChange(w.server, kindHost, m.host, func(h *metal3.BareMetalHost) {
		if h.Annotations == nil {
			h.Annotations = map[string]string{}
		}
		h.Annotations[contract.AnnotationQuarantine] = "lost"
	})
}

// vanish deletes the host of a machine, which is gone.
func (w *simSite) vanish(m *simMachine) {
	m.dead = true
	w.server.remove(kindHost, m.host)
	delete(w.machines, m.uid)
}

// tidy lets users end what an operation has begun: a silent machine is back, and another machine comes to the site
// for one that is lost. It reports whether there was something to do.
func (w *simSite) tidy() (done bool) {
	for _, h := range simList[*metal3.BareMetalHost](w.server, kindHost) {
		m := w.machines[string(h.UID)]
		if _, lost := h.Annotations[contract.AnnotationQuarantine]; lost {
			w.vanish(m)
			done = true
		} else if m.silent {
			m.silent, done = false, true
		}
	}
	for len(w.server.objects[kindHost]) < year.Hosts {
		w.newHost("host-" + strconv.Itoa(w.made+1))
		done = true
	}
	return done
}

// resetLate requests the reset of machines that did not answer when their nodes left, as HostsHealthy says.
func (w *simSite) resetLate() bool {
	late := false
	for _, h := range simList[*metal3.BareMetalHost](w.server, kindHost) {
		late = late || w.notReset[string(h.UID)] && h.Spec.ConsumerRef != nil && h.Spec.ConsumerRef.Name == name
	}
	clear(w.notReset)
	if late {
		w.annotate(contract.AnnotationRetry, "reset-")
	}
	return late
}

// touchesOther reports whether an operation is about the second Provisioning.
func touchesOther(operation string) bool {
	return operation == year.AddOther || operation == year.RemoveOther
}

// edits reports whether an operation is only an edit of the cluster's resources, which another edit may follow before
// it is complete.
// goesByNode reports whether the operation removes or upgrades workers.
func goesByNode(operation string) bool {
	return slices.Contains([]string{year.RemoveWorker, year.ShrinkPool, year.DrainingVariable, year.UpgradePatch, year.UpgradeMinor, year.PatchSystems}, operation)
}

// losePlane lets a control plane get lost that the others do not need.
func (w *simSite) losePlane() {
	a := w.clusters[name]
	if planes := slices.Sorted(maps.Keys(a.etcd)); len(planes) == 3 && a.alive() == 3 {
		w.lose(planes[w.random.IntN(3)], w.random.IntN(3))
	}
}

func edits(operation string) bool {
	return slices.Contains([]string{year.AddWorker, year.RemoveWorker, year.ReorderWorkers, year.GrowPool, year.ShrinkPool, year.AddStandby, year.RemoveStandby,
		year.ThreePlanes, year.OnePlane, year.AddPlugin, year.RemovePlugin, year.AddDrained, year.AddRebooted, year.RemovePackages, year.NarrowVariable,
		year.DrainingVariable, year.UpgradePatch, year.PatchSystems}, operation)
}

// backUp makes a Backup, as the controller of the Backups and its task do.
func (w *simSite) backUp() {
	if w.recipient == "" {
		identity, recipient, err := backup.NewKey()
		if err != nil {
			panic(err)
		}
		w.recipient = recipient
		w.server.set(kindSecret, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: contract.BackupKeyName(name)},
			Data: map[string][]byte{backup.KeyIdentity: []byte(identity + "\n"), backup.KeyRecipient: []byte(recipient + "\n")}})
	}
	if w.backup != "" {
		w.server.remove(kindBackup, w.backup)
	}
	w.asked++
	w.backup = "backup-" + strconv.Itoa(w.asked)
	b := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: w.backup}, Spec: v1alpha1.BackupSpec{Provisioning: name}}
	b.Status = v1alpha1.BackupStatus{Artifact: "binary_images/" + w.backup + ".tar.age", SHA256: strings.Repeat("a", 64), Recipient: w.recipient, ClusterUID: w.provisioning(name).ClusterUID(),
		KubernetesVersion: w.world.Kubernetes, StartTime: &metav1.Time{Time: w.now}, CompletionTime: ptr.To(metav1.Time{Time: w.now})}
	b.Status.MarkSucceeded(corev1.ConditionTrue, "Stored", "")
	w.server.set(kindBackup, b)
}

// ruin loses the only control plane, and requests a restore. A backup of another minor version cannot be restored.
func (w *simSite) ruin() {
	b := simStored[*v1alpha1.Backup](w.server, kindBackup, w.backup)
	if b == nil || !upgrade.SameMinor(b.Status.KubernetesVersion, w.world.Kubernetes) {
		w.backUp()
	}
	w.lose("master-1", w.random.IntN(2))
	for range w.random.IntN(20) {
		w.round()
	}
	w.annotate(contract.AnnotationRestore, w.backup+" time-")
}
