//go:build integration

package integration

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/cli"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine/machinetest"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
)

const adopting = "adopting" // namespace of this file's objects

// TestAdopt adopts a cluster of one server whose objects are lost, with a real SSH server and the real controller. The
// controller takes it as installed: it collects a kubeconfig, installs and resets nothing, backs the cluster up under its
// identity, and adds a worker. There is no Tekton, so the test ends the runs.
func TestAdopt(t *testing.T) {
	prepareSiteOf(t, adopting)
	admin := hostClient(t, "")
	port := lostServer(t, admin)
	spec := fmt.Sprintf("masters: [{master-1: {cpu: 4}}]\nPodSubnet: 10.244.64.0/18\nkubernetes: {version: 1.35.4}\nssh: {port: %d}\n", port)
	file := filepath.Join(t.TempDir(), "edge-1.yaml")
	if err := os.WriteFile(file, []byte(manifest("edge-1", spec)), 0o600); err != nil {
		t.Fatal(err)
	}
	bpa := func(want int, args ...string) string {
		t.Helper()
		var out strings.Builder
		code := cli.Run(t.Context(), append(args, "--kubeconfig", shared.kubeconfig, "-n", adopting), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		if code != want {
			t.Fatalf("kubectl bpa %v: exit code %d, want %d\n%s", args, code, want, out.String())
		}
		return out.String()
	}
	c := startController(t)
	await := func(object, state string) {
		t.Helper()
		if out, err := kubectl(t, "", "wait", "-n", adopting, object, "--timeout=28s", state); err != nil {
			all, _ := kubectl(t, "", "get", "-n", adopting, "bpa,pipelineruns,configmaps,backups", "-o", "yaml")
			t.Fatalf("%s %s: %v\n%s\n%s\ncontroller:\n%s", object, state, err, out, all, c.output(t))
		}
	}
	if out := bpa(0, "adopt", "edge-1", "-f", file, "--dry-run=server"); !strings.Contains(out, "nothing was changed") {
		t.Errorf("a dry run:\n%s", out)
	}
	t.Log(bpa(0, "adopt", "edge-1", "-f", file, "--yes"))
	await("pipelinerun/edge-1-collect-1", "--for=create")
	await("bpa/edge-1", `--for=jsonpath={.status.clusterUID}=first`)
	checkCollects(t, "edge-1-run-1")
	if out, err := kubectl(t, "", "patch", "-n", adopting, "bpa/edge-1", "--subresource=status", "--type=merge", "-p", `{"status":{"clusterUID":null}}`); err == nil || !strings.Contains(out, "cannot be changed once it is set") {
		t.Errorf("the identity was removed: %v\n%s", err, out)
	}

	endRun(t, "edge-1-collect-1")
	await("bpa/edge-1", `--for=jsonpath={.status.conditions[?(@.type=="ClusterInstalled")].status}=True`)
	await("bpa/edge-1", `--for=jsonpath={.status.nodes[0].name}=master-1`)
	host := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: adopting, Name: "host-2"}}
	register(t, admin, host, "02:00:00:00:0a:02", "10.60.10.2")
	must(t, "", "patch", "-n", adopting, "bpa/edge-1", "--type=merge", "-p", `{"spec":{"workers":[{"worker-1":{"cpu":4}}],"backup":{"schedule":"@monthly"}}}`)
	await("pipelinerun/edge-1-add-nodes-2", "--for=create")
	endRun(t, "edge-1-add-nodes-2")
	must(t, "", "annotate", "-n", adopting, "bpa/edge-1", "--overwrite", "bpa.akraino.org/backup-scheduled=2026-01-15T00:00:00Z")
	if runs := must(t, "", "get", "-n", adopting, "pipelineruns", "-o", "name"); strings.Contains(runs, "install") || strings.Contains(runs, "reset") {
		t.Errorf("runs:\n%s", runs)
	}
	awaitBackupOf(t, c)
	if log := c.output(t); strings.Contains(log, "forbidden") {
		t.Errorf("config/200-controller.yaml lacks a permission:\n%s", log)
	}
}

// lostServer makes host-1 the control plane of a cluster, on an address of this machine, and returns the port of its SSH server.
func lostServer(t *testing.T, admin client.Client) (port int) {
	t.Helper()
	address := ownAddress(t)
	signer, key := sshtest.NewKey(t)
	hostKey, _ := sshtest.NewKey(t)
	ca := machinetest.NewCA(t, time.Now())
	user := contract.User{Namespace: adopting, Name: "edge-1", UID: "first"}
	caText, err := json.Marshal(ca.PEM)
	if err != nil {
		t.Fatal(err)
	}
	server := sshtest.StartOn(t, sshtest.Listen(t, address)[0], signer.PublicKey(), func(command string, stdout, _ io.Writer) int {
		for _, a := range []struct{ of, text string }{
			{"perm_hwaddr", "name machine\ncard eth0 02:00:00:00:0a:01\n"},
			{"kubelet-client-current", ca.Member(t, "master-1", true)},
			{"get nodes", fmt.Sprintf(`{"items": [{"metadata": {"name": "master-1", "labels": {"node-role.kubernetes.io/control-plane": ""}}, "status": {"nodeInfo": {"kubeletVersion": "v1.35.4"}, "addresses": [{"type": "InternalIP", "address": %q}]}}]}`, address)},
			{"configmap kubeadm-config", `{"data": {"ClusterConfiguration": "kubernetesVersion: v1.35.4\nnetworking: {podSubnet: 10.244.64.0/18, serviceSubnet: 10.233.0.0/18}\n"}}`},
			{"configmap kube-root-ca.crt", `{"data": {"ca.crt": ` + string(caText) + `}}`},
			{"get daemonsets", "daemonset.apps/kube-flannel\n"},
			{"member list", fmt.Sprintf(`{"members": [{"ID": 1, "name": "etcd1", "peerURLs": ["https://%s:2380"]}]}`, address)},
			{"test -s", ""},
			{"", "user " + base64.StdEncoding.EncodeToString([]byte(user.String())) + "\nkubernetes process kubelet (7)\nend\n"},
		} {
			if strings.Contains(command, a.of) {
				_, _ = io.WriteString(stdout, a.text)
				break
			}
		}
		return 0
	}, hostKey)
	secret := &corev1.Secret{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: adopting, Name: "ssh-key"}, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data[corev1.SSHAuthPrivateKey] = key
	if err := admin.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	host := &metal3.BareMetalHost{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: adopting, Name: "host-1"}, host); err != nil {
		t.Fatal(err)
	}
	host.Status.HardwareDetails.NIC[0].IP = address
	if err := admin.Status().Update(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	return server.Port
}

// ownAddress returns an address of this machine that a host can have.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Fatal("this machine has no IPv4 address except that of loopback")
	return ""
}

func register(t *testing.T, admin client.Client, host *metal3.BareMetalHost, mac, ip string) {
	t.Helper()
	host.Spec.ExternallyProvisioned, host.Spec.BootMACAddress = true, mac
	if err := admin.Create(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	host.Status.Provisioning.State, host.Status.OperationalStatus, host.Status.PoweredOn = metal3.StateExternallyProvisioned, metal3.OperationalStatusOK, true
	host.Status.HardwareDetails = &metal3.HardwareDetails{CPU: metal3.CPU{Count: 8}, RAMMebibytes: 16 << 10, NIC: []metal3.NIC{{Name: "eth0", MAC: mac, IP: ip}}}
	if err := admin.Status().Update(t.Context(), host); err != nil {
		t.Fatal(err)
	}
}

// checkCollects checks that the run works on the adopted node, under the identity of the cluster, and that it enrolls the cluster's new key.
func checkCollects(t *testing.T, request string) {
	t.Helper()
	var r contract.Request
	text := must(t, "", "get", "-n", adopting, "configmap", request, "-o", `jsonpath={.data.request\.json}`)
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.UID != "first" || len(r.Members) != 1 || r.Members[0].Name != "master-1" || r.Members[0].Etcd != "etcd1" || !r.OfRecord() {
		t.Errorf("%v, request %s", err, text)
	}
	enrolls := must(t, "", "get", "-n", adopting, "pipelinerun/edge-1-collect-1", "-o", `jsonpath={.spec.params[?(@.name=="enroll")].value}`)
	if enroll, err := strconv.ParseBool(enrolls); err != nil || !enroll {
		t.Errorf("enroll is %q", enrolls)
	}
	if claim := must(t, "", "get", "-n", adopting, "bmh/host-1", "-o", `jsonpath={.spec.consumerRef.uid} {.metadata.annotations.bpa\.akraino\.org/used-by}`); claim != "first "+adopting+"/edge-1 first" {
		t.Errorf("host-1 has %q", claim)
	}
}

// endRun ends a run with success, as Tekton does.
func endRun(t *testing.T, name string) {
	t.Helper()
	must(t, "", "patch", "-n", adopting, "pipelinerun/"+name, "--subresource=status", "--type=merge", "-p", `{"status":{"completionTime":"2026-11-28T08:00:00Z","conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded"}]}}`)
}

// awaitBackupOf waits until the schedule has made a Backup with the identity of the cluster.
func awaitBackupOf(t *testing.T, c *controller) {
	t.Helper()
	if out, err := kubectl(t, "", "wait", "-n", adopting, "backup", "--selector=bpa.akraino.org/backup-of=first,app.kubernetes.io/managed-by=bpa-controller", "--for=create", "--timeout=28s"); err != nil {
		all, _ := kubectl(t, "", "get", "-n", adopting, "bpa,backups,pipelineruns", "-o", "yaml")
		t.Fatalf("no Backup of the cluster: %v\n%s\n%s\ncontroller:\n%s", err, out, all, c.output(t))
	}
}
