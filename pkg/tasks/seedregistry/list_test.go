package seedregistry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

const depotURL = "http://10.60.0.1:5000"

func request() contract.Request {
	master, worker := []string{contract.RoleControlPlane}, []string{contract.RoleWorker}
	return contract.Request{
		Spec: contract.Spec{
			Provisioning: "edge-1", Namespace: "site", KubernetesVersion: "1.35.4", NetworkPlugin: "flannel", PodSubnet: "10.244.64.0/18",
			ServiceSubnet: "10.233.0.0/18", SSHUser: "root", SSHPort: 22, DepotURL: depotURL,
			Slots: []contract.Slot{{Name: "master-1", Roles: master}, {Name: "worker-1", Roles: worker}, {Name: "worker-2", Roles: worker}},
			Sets:  []contract.Set{{Name: "arm", Roles: worker, Active: 3, Needs: contract.Needs{Architecture: "aarch64"}}},
			Vars:  map[string]json.RawMessage{"kube_proxy_mode": json.RawMessage(`"iptables"`)},
		},
	}
}

// fakePlaybooks replaces ansible-playbook. It writes the same listing for each host of the
// inventory.
type fakePlaybooks struct {
	listing string
	events  string
	status  int
	got     process.Command
	hosts   []string
}

func (f *fakePlaybooks) run(_ context.Context, c process.Command, stdout, _ io.Writer) (int, error) {
	f.got = c
	scratch := filepath.Dir(filepath.Dir(c.Args[2])) // of -i <scratch>/inventory/hosts.ini
	facts, err := filepath.Glob(filepath.Join(scratch, "inventory", "host_vars", "*.json"))
	if err != nil {
		return 0, err
	}
	for _, file := range facts {
		f.hosts = append(f.hosts, strings.TrimSuffix(filepath.Base(file), ".json"))
		if f.listing != "" {
			if err := os.WriteFile(filepath.Join(scratch, "lists", filepath.Base(file)), []byte(f.listing), 0o600); err != nil {
				return 0, err
			}
		}
	}
	_, err = io.WriteString(stdout, f.events)
	return f.status, err
}

const (
	greenEvents = `{"_event": "v2_playbook_on_stats", "stats": {"a": {"ok": 1}}}` + "\n"
	redEvents   = `{"_event": "v2_runner_on_failed", "task": {"name": "Check that kubespray supports the Kubernetes version"}, "hosts": {"a": {"failed": true, "msg": "cannot install"}}}
{"_event": "v2_playbook_on_stats", "stats": {"a": {"failures": 1}}}
`
)

// checkout makes a folder with playbooks. If own is true, they contain the playbook artifacts.yml;
// otherwise the folder looks like kubespray.
func checkout(t *testing.T, own bool) string {
	t.Helper()
	dir := t.TempDir()
	err := os.MkdirAll(filepath.Join(dir, "roles", "kubespray_defaults"), 0o755)
	if own {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "artifacts.yml"), nil, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestList(t *testing.T) {
	sum256, sum512 := strings.Repeat("A", 64), strings.Repeat("b", 128)
	fake := &fakePlaybooks{events: greenEvents, listing: `{
		"images": [{"ref": "registry.k8s.io/pause:3.10.1"}],
		"files": [
			{"url": "` + depotURL + `/files/dl.k8s.io/kubelet", "checksum": "sha256:` + sum256 + `"},
			{"url": "` + depotURL + `/files/storage.googleapis.com/runsc", "checksum": "sha512:` + sum512 + `"},
			{"url": "` + depotURL + `/files/a%2Bb/c", "checksum": ""},
			{"url": "http://mirror.example/files/elsewhere", "checksum": ""}
		],
		"packages": [{"name": "socat"}]}`}
	var log bytes.Buffer
	in := ListInput{Request: request(), PlaybooksDir: checkout(t, false), ScratchDir: t.TempDir()}
	in.Request.OperatingSystem = "debian-12"
	got, _, err := List(t.Context(), in, ListPorts{fake.run, &log})
	if err != nil {
		t.Fatal(err)
	}
	want := artifacts.List{
		Images: []artifacts.Image{{Ref: "registry.k8s.io/pause:3.10.1"}},
		Files: []artifacts.File{
			{Path: "a+b/c"}, {Path: "dl.k8s.io/kubelet", SHA256: strings.ToLower(sum256)}, {Path: "storage.googleapis.com/runsc", SHA512: sum512},
		},
		Packages: []artifacts.Package{
			{Name: "socat", System: "debian-12", Architecture: "amd64"}, {Name: "socat", System: "debian-12", Architecture: "arm64"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"control-plane-x86-64", "worker-aarch64", "worker-x86-64"}, fake.hosts); diff != "" {
		t.Errorf("stand-ins (-want +got):\n%s", diff)
	}
	if playbook := fake.got.Args[len(fake.got.Args)-1]; playbook != filepath.Join(in.ScratchDir, "kubespray.yml") {
		t.Errorf("the playbook is %s", playbook)
	}
	for _, line := range []string{"Nodes fetch http://mirror.example/files/elsewhere from outside the depot", "1 images, 3 files, 2 packages of debian-12"} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("the log does not say %q:\n%s", line, &log)
		}
	}
}

// TestListOfAnAddressThatMoves: the depot must have the image of BPA's own static pod, which no playbook lists.
func TestListOfAnAddressThatMoves(t *testing.T) {
	for mode, want := range map[*contract.API][]artifacts.Image{
		{Address: "10.0.0.9", Port: 6443}:                {{Ref: "registry.k8s.io/pause:3.10.1"}},
		{Address: "10.0.0.9", Port: 6443, Virtual: true}: {{Ref: contract.KeepalivedImage}, {Ref: "registry.k8s.io/pause:3.10.1"}},
	} {
		fake := &fakePlaybooks{events: greenEvents, listing: `{"images": [{"ref": "registry.k8s.io/pause:3.10.1"}]}`}
		in := ListInput{Request: request(), PlaybooksDir: checkout(t, false), ScratchDir: t.TempDir()}
		in.Request.API = mode
		got, _, err := List(t.Context(), in, ListPorts{fake.run, io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Images); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", mode, diff)
		}
	}
}

// The playbook that lists artifacts has the same variables as the installation. A variable of a
// Provisioning cannot make Ansible connect to a host.
func TestListPreparesTheRunsVariables(t *testing.T) {
	fake := &fakePlaybooks{events: greenEvents, listing: `{}`}
	in := ListInput{Request: request(), PlaybooksDir: checkout(t, true), ScratchDir: t.TempDir()}
	in.Request.OperatingSystem = "ubuntu-24.04"
	if _, _, err := List(t.Context(), in, ListPorts{fake.run, io.Discard}); err != nil {
		t.Fatal(err)
	}
	for name, parts := range map[string][]string{
		"inventory/group_vars/all/bpa.json":             {`"kube_version": "1.35.4"`, `"dl_k8s_io_url": "` + depotURL + `/files/dl.k8s.io"`, `"kube_proxy_mode": "iptables"`},
		"inventory/host_vars/worker-aarch64.json":       {`"ansible_architecture":"aarch64"`, `"main_ip":"192.0.2.`, `"ansible_distribution_version":"24.04"`},
		"inventory/host_vars/control-plane-x86-64.json": {`"ansible_architecture":"x86_64"`},
		"inventory/hosts.ini":                           {"[kube_control_plane]\ncontrol-plane-x86-64\n", "[kube_node]\nworker-x86-64\nworker-aarch64\n"},
		"extra-vars.json":                               {`"ansible_connection":"local"`},
	} {
		text, err := os.ReadFile(filepath.Join(in.ScratchDir, name))
		if err != nil {
			t.Error(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s does not say %q:\n%s", name, part, text)
			}
		}
	}
	if playbook := fake.got.Args[len(fake.got.Args)-1]; playbook != filepath.Join(in.PlaybooksDir, "artifacts.yml") {
		t.Errorf("the playbook is %s, want the entry point of the playbooks", playbook)
	}
}

func TestListFails(t *testing.T) {
	for _, tc := range []struct {
		name    string
		fake    fakePlaybooks
		change  func(*ListInput)
		reason  contract.Reason
		message string
	}{
		{"a task fails", fakePlaybooks{events: redEvents, status: 2}, nil, contract.ReasonPlaybookFailed, "cannot install"},
		{"no recap", fakePlaybooks{status: 4}, nil, contract.ReasonPlaybookFailed, "exit status 4"},
		{"nothing written", fakePlaybooks{events: greenEvents}, nil, contract.ReasonPlaybookFailed, "did not write a list for"},
		{"no list", fakePlaybooks{events: greenEvents, listing: `[`}, nil, contract.ReasonPlaybookFailed, "the list that the playbooks wrote"},
		{"an odd checksum", fakePlaybooks{events: greenEvents, listing: `{"files": [{"url": "` + depotURL + `/files/a", "checksum": "md5:1"}]}`}, nil, contract.ReasonPlaybookFailed, "md5:1"},
		{"a path that climbs", fakePlaybooks{events: greenEvents, listing: `{"files": [{"url": "` + depotURL + `/files/a/%2e%2e/b"}]}`}, nil, contract.ReasonPlaybookFailed, "a/../b"},
		{"a bad request", fakePlaybooks{}, func(in *ListInput) { in.Request.KubernetesVersion = "$(id)" }, contract.ReasonInvalidRequest, "Kubernetes version"},
		{"an unknown system", fakePlaybooks{}, func(in *ListInput) { in.Request.OperatingSystem = "beos-5" }, contract.ReasonInvalidRequest, "one of almalinux, amzn,"},
		{"no playbooks", fakePlaybooks{}, func(in *ListInput) { in.PlaybooksDir = "/nowhere" }, contract.ReasonInternal, "/nowhere has neither"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := ListInput{Request: request(), PlaybooksDir: checkout(t, false), ScratchDir: t.TempDir()}
			if tc.change != nil {
				tc.change(&in)
			}
			_, _, err := List(t.Context(), in, ListPorts{tc.fake.run, io.Discard})
			if err == nil {
				t.Fatal("no error")
			}
			if got := task.FailureOf(err); got.Reason != tc.reason || !strings.Contains(got.Message, tc.message) {
				t.Errorf("failure %+v; want %s with %q", got, tc.reason, tc.message)
			}
		})
	}
}

func TestStandInsStayOutOfTheSubnets(t *testing.T) {
	r := request()
	r.PodSubnet, r.ServiceSubnet = "192.0.0.0/16", "198.51.100.0/25"
	nodes, err := standIns(r)
	if err != nil || nodes[0].Address != "203.0.113.1" {
		t.Errorf("standIns = %+v, %v", nodes, err)
	}
	r.PodSubnet, r.ServiceSubnet = "192.0.0.0/3", "10.0.0.0/24"
	if nodes, err := standIns(r); err == nil {
		t.Errorf("standIns = %+v although no address is free", nodes)
	}
}

// Nodes with variables of their own can need other artifacts, so they have a stand-in with these variables.
func TestStandInsHaveVariablesOfNodes(t *testing.T) {
	r := request()
	gvisor := map[string]json.RawMessage{"gvisor_enabled": json.RawMessage("true")}
	worker := []string{contract.RoleWorker}
	r.Slots[1].Vars = gvisor
	r.Slots[2].Vars = map[string]json.RawMessage{"kube_proxy_mode": r.Vars["kube_proxy_mode"]} // as the cluster
	r.Sets = append(r.Sets, contract.Set{Name: "sandbox", Roles: worker, Active: 1, Vars: gvisor})
	nodes, err := standIns(r)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := render(r, nodes)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(rendered.HostsINI)) {
		if name, rest, _ := strings.Cut(line, " "); strings.Contains(rest, "ansible_host") {
			if strings.Contains(rest, "gvisor_enabled='True'") {
				name += " gvisor"
			}
			got = append(got, name)
		}
	}
	if diff := cmp.Diff([]string{"control-plane-x86-64", "worker-x86-64-1 gvisor", "worker-x86-64", "worker-aarch64"}, got); diff != "" {
		t.Errorf("stand-ins (-want +got):\n%s", diff)
	}
}

func TestReadList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.json")
	want := artifacts.List{Images: []artifacts.Image{{Ref: "registry.k8s.io/pause:3.10.1"}}, Files: []artifacts.File{{Path: "a/b"}}}
	if err := WriteList(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadList(path)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("ReadList: %v (-want +got):\n%s", err, diff)
	}
	want.Files[0].URL = "http://169.254.169.254/latest"
	if err := WriteList(path, want); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadList(path); err == nil {
		t.Errorf("a URL that the template chose is accepted: %+v", got)
	}
	if _, err := ReadList(path + ".none"); err == nil || !strings.Contains(fmt.Sprint(err), "first step") {
		t.Errorf("no list: %v", err)
	}
}

// An upgrade over several versions needs the artifacts of all of them before it begins. Only the
// files of the first version are pinned.
func TestListOfAnUpgrade(t *testing.T) {
	in := ListInput{Request: request(), PlaybooksDir: checkout(t, false), ScratchDir: t.TempDir()}
	in.Request.KubernetesVersion = "1.34.3"
	in.Request.Upgrade = &contract.Upgrade{Nodes: []string{"master-1"}, From: "1.33.1", Path: []string{"1.34.3", "1.35.4"}}
	var versions []string
	playbook := func(ctx context.Context, c process.Command, stdout, stderr io.Writer) (int, error) {
		var vars struct {
			Version string `json:"kube_version"`
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(c.Args[2]), "group_vars", "all", "bpa.json"))
		if err == nil {
			err = json.Unmarshal(text, &vars)
		}
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, vars.Version)
		f := fakePlaybooks{events: greenEvents, listing: strings.ReplaceAll(`{"images": [{"ref": "registry.k8s.io/kube-proxy:vVERSION"}, {"ref": "registry.k8s.io/pause:3.10.1"}],
			"files": [{"url": "http://10.60.0.1:5000/files/dl.k8s.io/release/vVERSION/bin/linux/amd64/kubelet", "checksum": "", "variable": "kubelet_binary_checksum", "architecture": "amd64"}]}`,
			"VERSION", vars.Version)}
		return f.run(ctx, c, stdout, stderr)
	}
	var log bytes.Buffer
	list, pins, err := List(t.Context(), in, ListPorts{Playbook: playbook, Log: &log})
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	if diff := cmp.Diff([]string{"1.34.3", "1.35.4"}, versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	const kubelet = "dl.k8s.io/release/v%s/bin/linux/amd64/kubelet"
	want := artifacts.List{
		Images: []artifacts.Image{{Ref: "registry.k8s.io/kube-proxy:v1.34.3"}, {Ref: "registry.k8s.io/kube-proxy:v1.35.4"}, {Ref: "registry.k8s.io/pause:3.10.1"}},
		Files:  []artifacts.File{{Path: fmt.Sprintf(kubelet, "1.34.3")}, {Path: fmt.Sprintf(kubelet, "1.35.4")}},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if len(pins) != 1 || pins[0].Path != fmt.Sprintf(kubelet, "1.34.3") {
		t.Errorf("pins %v", pins)
	}
	missing := artifacts.Missing{List: list, Of: 5}
	if text := missing.Short(depotURL); !strings.Contains(text, "kubelet v1.35.4") || !strings.Contains(text, "kube-proxy:v1.35.4") {
		t.Errorf("the message does not name version and artifact: %s", text)
	}
}

// A run that only patches operating systems needs no image and no file, so the playbooks are not asked.
func TestListOfAPatch(t *testing.T) {
	in := ListInput{Request: request(), ScratchDir: t.TempDir()}
	in.Request.Members = []contract.Node{{Name: "worker-1"}, {Name: "worker-2", Version: "1.33.5"}}
	in.Request.Upgrade = &contract.Upgrade{Nodes: []string{"worker-1"}, From: in.Request.KubernetesVersion, Path: []string{in.Request.KubernetesVersion}, Patch: "monday"}
	calls := 0
	ports := ListPorts{Log: io.Discard, Playbook: func(context.Context, process.Command, io.Writer, io.Writer) (int, error) {
		calls++
		return 1, nil
	}}
	list, pins, err := List(t.Context(), in, ports)
	if err != nil || len(list.Images)+len(list.Files)+len(pins)+calls != 0 {
		t.Errorf("list %+v, pins %v, %d playbooks: %v", list, pins, calls, err)
	}
	in.PlaybooksDir, in.Request.Upgrade.Nodes = checkout(t, false), []string{"worker-1", "worker-2"} // which gets another version
	if _, _, err := List(t.Context(), in, ports); err == nil || calls == 0 {
		t.Errorf("%d playbooks: %v", calls, err)
	}
}
