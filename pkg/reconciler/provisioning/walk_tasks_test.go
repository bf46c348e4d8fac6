package provisioning

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/renderinventory"
	"github.com/akraino-icn/bpa/pkg/tasks/selecthosts"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// runTask is the program of a task. select-hosts and render-inventory are those of BPA.
func (w *simSite) runTask(j *simJob, run *tekton.PipelineRun, name string) error {
	ctx, cluster := context.Background(), run.Labels[contract.LabelCluster]
	j.c.pause()
	request, err := w.requestOf(run)
	if err != nil {
		return err
	}
	outcome := simStore{j.c, request.Outcome}
	if t := taskNamed(name); t.StoresOutcome {
		if err := w.checkOutcome(run, t, request); err != nil {
			return err
		}
	}
	switch name {
	case contract.TaskSeedRegistry:
		return w.depotError()
	case contract.TaskSelectHosts:
		out, err := selecthosts.Run(ctx, selecthosts.Input{Request: request},
			selecthosts.Ports{Hosts: simHostClient{c: j.c}, Record: simStore{j.c, contract.InstalledName(cluster)}, Outcome: outcome, Log: io.Discard})
		j.results = out.Results()
		return err
	case contract.TaskEnroll:
		return w.enroll(ctx, j, run, request)
	case contract.TaskRenderInventory:
		nodes := w.claimedBy(run)
		out, err := renderinventory.Run(ctx, renderinventory.Input{Request: request, Nodes: nodes},
			renderinventory.Ports{Inventory: outcome, Reason: kube.Reason, Log: io.Discard})
		j.results = out.Results()
		if err != nil || j.c.dead {
			return err
		}
		return w.checkInventory(request, nodes)
	case contract.TaskKubespray:
		return w.kubespray(ctx, j, run, request)
	case contract.TaskCollectKubeconfig:
		return w.collect(j, run, cluster)
	case contract.TaskInstallPlugins:
		return w.installPlugins(ctx, j, request)
	case contract.TaskInstallSoftware:
		return w.installSoftware(ctx, j, run, request)
	}
	return fmt.Errorf("the walk does not know task %s", name)
}

// requestOf reads the request of a run, as its pods do.
func (w *simSite) requestOf(run *tekton.PipelineRun) (r contract.Request, err error) {
	name, uid := runs.RequestOf(convert.Run(run))
	cm := simStored[*corev1.ConfigMap](w.server, kindConfigMap, name)
	if cm == nil || cm.UID != uid {
		return r, task.Because(contract.ReasonInvalidRequest, notFound(kindConfigMap, name))
	}
	return r, json.Unmarshal([]byte(cm.Data[contract.KeyRequest]), &r)
}

// outcomeOf returns the ConfigMap with the outcome of a run, as its pods mount it.
func (w *simSite) outcomeOf(run *tekton.PipelineRun) *corev1.ConfigMap {
	i := slices.IndexFunc(run.Spec.Workspaces, func(b tekton.WorkspaceBinding) bool { return b.Name == contract.WorkspaceInventory })
	return simStored[*corev1.ConfigMap](w.server, kindConfigMap, run.Spec.Workspaces[i].ConfigMap.Name)
}

// claimedBy returns the nodes that select-hosts has stored for the run.
func (w *simSite) claimedBy(run *tekton.PipelineRun) (nodes []contract.Node) {
	_ = json.Unmarshal([]byte(w.outcomeOf(run).Data[contract.KeyNodes]), &nodes) // empty in a run that claims no host
	return nodes
}

func taskNamed(name string) contract.Task {
	return contract.Tasks[slices.IndexFunc(contract.Tasks, func(t contract.Task) bool { return t.Name == name })]
}

// checkOutcome checks that a task may write the outcome of its run, which its later tasks mount, and that nobody has
// written the keys of this task.
func (w *simSite) checkOutcome(run *tekton.PipelineRun, t contract.Task, request contract.Request) error {
	cm := w.outcomeOf(run)
	if cm == nil || cm.Name != request.Outcome {
		return w.bad("task %s of %s is to write %s, and later tasks mount %+v", t.Name, run.Name, request.Outcome, cm)
	}
	account := contract.ServiceAccountName(request.Provisioning, t.Name)
	role := simStored[*rbacv1.Role](w.server, kindRole, account)
	if role == nil || !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.ResourceNames, cm.Name) }) {
		return w.bad("task %s of %s may not write %s: %+v", t.Name, run.Name, cm.Name, role)
	}
	keys := []string{contract.KeyHostsINI, contract.KeyGroupVars}
	switch t.Name {
	case contract.TaskSelectHosts:
		keys = append(keys, contract.KeyNodes)
	case contract.TaskEnroll: // beside render-inventory
		keys = []string{contract.KeyChecks}
	}
	for _, key := range keys {
		if cm.Data[key] != "" {
			return w.bad("%s of %s is written before task %s of %s", key, cm.Name, t.Name, run.Name)
		}
	}
	return nil
}

// depotError is the failure of a task that needs the depot, while that is down.
func (w *simSite) depotError() error {
	if w.depotFails > 0 {
		w.depotFails--
		return task.Because(contract.ReasonDepotUnavailable, fmt.Errorf("the depot is down"))
	}
	return nil
}

// checkInventory checks hosts.ini: the nodes that the run works on, each once and at its own address, and the
// members of etcd.
func (w *simSite) checkInventory(request contract.Request, listed []contract.Node) error {
	text := simStored[*corev1.ConfigMap](w.server, kindConfigMap, request.Outcome).Data[contract.KeyHostsINI]
	groups, addresses := parseINI(text)
	var want, planes []string
	switch {
	case request.OfRecord():
		for _, n := range request.Members {
			if stays := !slices.Contains(request.Lost, n.Name) && !slices.Contains(request.Kept, n.Name); stays || request.Removes(n) && n.Address != "" {
				want = append(want, n.Name)
			}
		}
		for _, n := range request.Nodes { // leaves, and was never a member
			if request.Removes(n) && n.Address != "" && !slices.Contains(want, n.Name) {
				want = append(want, n.Name)
			}
		}
	default:
		for _, n := range listed {
			if !n.Standby {
				want = append(want, n.Name)
			}
		}
		if n := activeIn(request); n != len(want) {
			return w.bad("hosts.ini of %s: the request has %d nodes, and hosts are claimed for %v", request.Operation, n, want)
		}
	}
	for _, n := range request.NodesOf(listed) {
		if slices.Contains(n.Roles, contract.RoleControlPlane) && slices.Contains(want, n.Name) {
			planes = append(planes, n.Name)
		}
		if m := w.machineOf(n); m != nil && slices.Contains(want, n.Name) && addresses[n.Name] != m.address {
			return w.bad("hosts.ini has node %s at %s, and its machine is at %s", n.Name, addresses[n.Name], m.address)
		}
	}
	for group, names := range map[string][]string{"all": want, "kube_control_plane": planes} {
		if diff := cmp.Diff(sortedNames(names), sortedNames(groups[group])); diff != "" {
			return w.bad("group %s of hosts.ini of %s (-want +got):\n%s\n%s", group, request.Operation, diff, text)
		}
	}
	if e := groups["etcd"]; len(e) == 0 || slices.ContainsFunc(e, func(name string) bool { return !slices.Contains(planes, name) }) {
		return w.bad("group etcd of hosts.ini of %s has %v, and the control planes are %v", request.Operation, e, planes)
	}
	seen := map[string]string{}
	for name, address := range addresses {
		if other := seen[address]; address == "" || other != "" {
			return w.bad("hosts.ini has address %q for %s and for %q", address, name, other)
		}
		seen[address] = name
	}
	return nil
}

func activeIn(r contract.Request) int {
	n := len(r.Slots)
	for _, set := range r.Sets {
		n += set.Active
	}
	return n
}

func sortedNames(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	if len(names) == 0 {
		return nil
	}
	return names
}

// parseINI returns the names in each group of a hosts.ini, and the addresses of the hosts.
func parseINI(text string) (groups map[string][]string, addresses map[string]string) {
	groups, addresses = map[string][]string{}, map[string]string{}
	group := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		field := strings.Fields(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			group = strings.Trim(line, "[]")
		default:
			groups[group] = append(groups[group], field[0])
			for _, f := range field[1:] {
				if value, ok := strings.CutPrefix(f, "ansible_host="); ok {
					addresses[field[0]] = value
				}
			}
		}
	}
	return groups, addresses
}

// simCA signs the certificates of kubeconfigs.
var simCA = sync.OnceValues(func() (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(90, 0, 0),
		IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		panic(err)
	}
	return made, key
})

// collect signs the request of the run for a client certificate.
func (w *simSite) collect(j *simJob, run *tekton.PipelineRun, cluster string) error {
	a := w.clusters[cluster]
	if !a.answers() {
		return task.Because(contract.ReasonAPIUnavailable, fmt.Errorf("etcd has no majority"))
	}
	for _, name := range slices.Sorted(maps.Keys(a.etcd)) {
		if a.ready(name) {
			if err := a.etcd[name].admit(name, run.Annotations[runs.AnnotationNodesKey]); err != nil {
				return err
			}
			break
		}
	}
	i := slices.IndexFunc(run.Spec.Params, func(p tekton.Param) bool { return p.Name == contract.ParamCertificateRequest })
	block, _ := pem.Decode([]byte(run.Spec.Params[i].Value.StringVal))
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return err
	}
	ca, key := simCA()
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: csr.Subject, NotBefore: w.now.Add(-time.Hour), NotAfter: w.now.AddDate(50, 0, 0)}
	raw, err := x509.CreateCertificate(rand.Reader, template, ca, csr.PublicKey, key)
	if err != nil {
		return err
	}
	encode := func(raw []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	}
	j.results = map[string]string{
		contract.ResultCA: encode(ca.Raw), contract.ResultCertificate: encode(raw), contract.ResultVersion: "v1.35.3",
		contract.ResultEndpoint: "https://" + net.JoinHostPort(a.endpoint(), "6443"),
	}
	return nil
}

// installPlugins installs the plugins of the request, one after the other, and removes all others.
func (w *simSite) installPlugins(ctx context.Context, j *simJob, request contract.Request) error {
	store := simStore{j.c, contract.PluginsName(request.Provisioning)}
	text, err := store.Get(ctx, contract.KeyPlugins)
	if err != nil {
		return err
	}
	var before, rows []contract.PluginStatus
	_ = json.Unmarshal([]byte(text), &before) // empty before the first run
	for _, p := range request.Plugins {
		row := contract.PluginStatus{Name: p.Name, Version: p.Version, Intent: p.Intent, State: contract.PluginInstalled, Since: w.now}
		if p.Skip != "" {
			row.State, row.Message = contract.PluginSkipped, p.Skip
		}
		rows = append(rows, row)
		left := slices.DeleteFunc(slices.Clone(before), func(b contract.PluginStatus) bool {
			return slices.ContainsFunc(rows, func(r contract.PluginStatus) bool { return r.Name == b.Name })
		})
		if err := setJSON(ctx, store, contract.KeyPlugins, slices.Concat(rows, left)); err != nil {
			return err
		}
	}
	return setJSON(ctx, store, contract.KeyPlugins, rows)
}

// installSoftware gives the nodes of the run the packages of the request, one after the other.
func (w *simSite) installSoftware(ctx context.Context, j *simJob, of *tekton.PipelineRun, request contract.Request) error {
	name := of.Name
	store, run := simStore{j.c, contract.SoftwareName(request.Provisioning)}, request.Software
	text, err := store.Get(ctx, contract.KeySoftware)
	if err != nil {
		return err
	}
	record, err := contract.ParseSoftwareRecord(text)
	if err != nil {
		return err
	}
	members := slices.DeleteFunc(slices.Clone(request.Members), func(n contract.Node) bool { return slices.Contains(request.Lost, n.Name) })
	record.Nodes = slices.DeleteFunc(record.Nodes, func(row contract.SoftwareNode) bool {
		return !slices.ContainsFunc(request.Members, func(n contract.Node) bool { return n.Name == row.Node && n.HostUID == row.Host })
	})
	if run.Asked != "" {
		record.Asked = run.Asked
	}
	var failed error
	for _, n := range members {
		if ends, err := store.Get(ctx, contract.KeyEnds); err != nil || ends == name {
			return err
		}
		row := contract.SoftwareNode{Node: n.Name, Host: n.HostUID, Checked: w.now, Tried: w.now, Architecture: "amd64"}
		if m := w.machineOf(n); m == nil || !m.answers() {
			row = record.Of(n)
			row.Tried, row.Message = w.now, "it does not answer"
			failed = &task.Error{Reason: contract.ReasonHostUnreachable, Host: n.Name, Err: fmt.Errorf("it does not answer")}
		} else if err := m.admit(n.Name, of.Annotations[runs.AnnotationNodesKey]); err != nil {
			row = record.Of(n)
			row.Tried, row.Message = w.now, err.Error()
			failed = err
		} else if slices.Contains(run.Nodes, n.Name) && !run.CheckOnly {
			for _, p := range run.Packages {
				if p.On(n.Roles) {
					row.Packages = append(row.Packages, contract.SoftwarePackage{
						Name: p.Name, Installed: "1", State: contract.SoftwareInstalled, Ours: true, Since: w.now, Intent: contract.SoftwareIntent(p), Disruption: p.Disruption,
					})
				}
			}
		} else {
			row.Packages = record.Of(n).Packages
		}
		record.Nodes = slices.DeleteFunc(record.Nodes, func(o contract.SoftwareNode) bool { return o.Node == n.Name })
		record.Nodes = append(record.Nodes, row)
		slices.SortFunc(record.Nodes, func(a, b contract.SoftwareNode) int { return compareNames(a.Node, b.Node) })
		text, err := record.Encode()
		if err != nil {
			return err
		}
		if err := store.Set(ctx, contract.KeySoftware, text); err != nil {
			return err
		}
	}
	return failed
}

func setJSON(ctx context.Context, store simStore, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return store.Set(ctx, key, string(text))
}

func compareNames(a, b string) int { return strings.Compare(a, b) }
