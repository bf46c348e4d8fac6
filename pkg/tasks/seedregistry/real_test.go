//go:build e2e

package seedregistry

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
)

func execute(ctx context.Context, c process.Command, stdout, stderr io.Writer) (int, error) {
	return process.Exec(ctx, process.KillAfter, c, stdout, stderr)
}

// This test runs the real ansible-playbook, from the PATH or from the lab, with real playbooks. It
// uses the playbooks of the lab. If KUBESPRAY is the path of a checkout of v2.31.0, it also uses
// kubespray's playbooks.
func TestRealPlaybooks(t *testing.T) {
	lab := filepath.Join(os.Getenv("BPA_STATE"), "cache", "lab", "ansible", "venv", "bin")
	t.Setenv("PATH", os.Getenv("PATH")+string(os.PathListSeparator)+lab)
	if _, err := exec.LookPath("ansible-playbook"); err != nil {
		t.Fatalf("%v: make the lab's with \"lab artifacts\", or put one on the PATH", err)
	}
	own, err := filepath.Abs("../../../test/playbooks")
	if err != nil {
		t.Fatal(err)
	}
	checkouts := map[string]string{"the lab's": own}
	if dir := os.Getenv("KUBESPRAY"); dir != "" {
		checkouts["kubespray's"] = dir
	}
	coredns := map[string]string{"the lab's": `1\.14\.7`, "kubespray's": `1\.12\.4`}
	for name, dir := range checkouts {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			in := ListInput{Request: request(), PlaybooksDir: dir, ScratchDir: t.TempDir()}
			list, _, err := List(t.Context(), in, ListPorts{execute, &log})
			if err != nil {
				t.Fatalf("%v\n%s", err, &log)
			}
			var all []string
			for _, i := range list.Images {
				all = append(all, i.Ref)
			}
			for _, f := range list.Files {
				all = append(all, f.Path+" "+f.SHA256)
			}
			text := strings.Join(all, "\n") + "\n"
			for _, want := range []string{
				`registry\.k8s\.io/kube-apiserver:v1\.35\.4\n`, `registry\.k8s\.io/kube-proxy:v1\.35\.4\n`, `registry\.k8s\.io/coredns/coredns:v` + coredns[name] + `\n`,
				`registry\.k8s\.io/pause:3\.10`, `dl\.k8s\.io/release/v1\.35\.4/bin/linux/amd64/kubelet `, `dl\.k8s\.io/release/v1\.35\.4/bin/linux/.*/kubeadm `,
				`github\.com/containerd/containerd/releases/download/v[0-9.]+/containerd-`, `github\.com/containernetworking/plugins/`,
				`docker\.io/library/nginx:`,
			} {
				if !regexp.MustCompile(want).MatchString(text) {
					t.Errorf("the list lacks %s:\n%s", want, text)
				}
			}
			if name == "kubespray's" {
				checkKubespray(t, in, text)
				checkPackages(t, in)
			}
		})
	}
}

// checkPackages checks that the list has the packages that kubespray's role system_packages would
// install on each operating system. On Flatcar the role installs none.
func checkPackages(t *testing.T, in ListInput) {
	in.Request.Sets = nil
	for system, want := range map[string]string{
		"debian-12":          "apparmor apt-transport-https conntrack gnupg iputils-ping libseccomp2 mergerfs python3-apt software-properties-common",
		"ubuntu-24.04":       "apparmor apt-transport-https conntrack iputils-ping libseccomp2 python3-apt software-properties-common",
		"rocky-9.5":          "conntrack container-selinux device-mapper-libs iproute iputils libseccomp nss",
		"opensuse-leap-15.6": "apparmor-parser conntrack-tools device-mapper iputils libseccomp2 python3-cryptography",
		"flatcar-4152.2.0":   "",
	} {
		in.Request.OperatingSystem, in.ScratchDir = system, t.TempDir()
		list, _, err := List(t.Context(), in, ListPorts{execute, io.Discard})
		if err != nil {
			t.Errorf("%s: %v", system, err)
			continue
		}
		names := map[string]bool{}
		for _, p := range list.Packages {
			names[p.Name] = true
			if p.System != system || p.Architecture == "" {
				t.Errorf("%s: %+v", system, p)
			}
		}
		for _, name := range strings.Fields(want + strings.Repeat(" socat openssl curl", min(len(want), 1))) {
			if !names[name] {
				t.Errorf("%s: the list lacks %s: %v", system, name, list.Packages)
			}
		}
		if want == "" && len(names) > 0 {
			t.Errorf("%q: %v; want no packages", system, list.Packages)
		}
	}
}

// checkKubespray checks that the list has artifacts for both architectures of the request, and the
// checksums from upstream. It also checks the error for a version that kubespray does not support.
func checkKubespray(t *testing.T, in ListInput, text string) {
	for _, want := range []string{
		"docker.io/flannel/flannel:v", "release/v1.35.4/bin/linux/arm64/kubelet ",
		"release/v1.35.4/bin/linux/amd64/kubelet 983a6ba5a49823dcdd745c674e5e2416377dd27d6ad1b42d2befa0fb961a19f6", "etcd-io/etcd/releases/download/v3.6.10/",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the list lacks %s:\n%s", want, text)
		}
	}
	checkDigests(t, in)
	checkNodeVariables(t, in)
	in.Request.KubernetesVersion, in.ScratchDir = "1.99.0", t.TempDir()
	_, _, err := List(t.Context(), in, ListPorts{execute, &bytes.Buffer{}})
	if err == nil || !strings.Contains(err.Error(), "cannot install Kubernetes 1.99.0 for a") || !strings.Contains(err.Error(), string(contract.ReasonPlaybookFailed)) {
		t.Errorf("an unknown version: %v", err)
	}
	checkNewerThanTables(t, in)
}

// checkNodeVariables checks that the list has what only the nodes of one set need.
func checkNodeVariables(t *testing.T, in ListInput) {
	in.ScratchDir = t.TempDir()
	in.Request.Sets = []contract.Set{{Name: "sandbox", Roles: []string{contract.RoleWorker}, Active: 1, Vars: map[string]json.RawMessage{"gvisor_enabled": json.RawMessage("true")}}}
	for range 2 {
		list, _, err := List(t.Context(), in, ListPorts{execute, io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		named := func(f artifacts.File) bool { return strings.HasSuffix(f.Path, "/runsc") }
		if want := in.Request.Sets[0].Vars != nil; slices.ContainsFunc(list.Files, named) != want {
			t.Errorf("the list has gVisor: %v, want %v", !want, want)
		}
		in.Request.Sets[0].Vars, in.ScratchDir = nil, t.TempDir()
	}
}

// checkDigests checks that the list has the digests of images that the variables of the Provisioning name,
// with and without the name of their algorithm. Other images have none.
func checkDigests(t *testing.T, in ListInput) {
	in.Request.Sets, in.ScratchDir = nil, t.TempDir()
	digest := strings.Repeat("a", 64)
	in.Request.Vars = map[string]json.RawMessage{
		"coredns_digest_checksum": json.RawMessage(`"` + digest + `"`), "pod_infra_digest_checksum": json.RawMessage(`"sha256:` + digest + `"`),
	}
	list, _, err := List(t.Context(), in, ListPorts{execute, io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, i := range list.Images {
		place, err := i.Place()
		if err != nil {
			t.Fatal(err)
		}
		got[place.Repository] = i.Digest
	}
	if want := "sha256:" + digest; got["coredns/coredns"] != want || got["pause"] != want || got["kube-apiserver"] != "" || got["kube-proxy"] != "" {
		t.Errorf("digests: %v", got)
	}
}

// checkNewerThanTables checks a Kubernetes version that is newer than kubespray's tables of
// checksums: the files of this version must be pinned.
func checkNewerThanTables(t *testing.T, in ListInput) {
	in.Request.KubernetesVersion, in.Request.Sets, in.ScratchDir = "1.35.99", nil, t.TempDir()
	list, pins, err := List(t.Context(), in, ListPorts{execute, &bytes.Buffer{}})
	if err != nil {
		t.Fatalf("a version that is newer than kubespray: %v", err)
	}
	unknown := map[string]string{}
	for _, f := range list.Files {
		if f.SHA256 == "" {
			unknown[f.Path] = ""
		}
	}
	got := map[string]string{}
	for _, p := range pins {
		got[p.Path] = p.Variable
	}
	const folder = "dl.k8s.io/release/v1.35.99/bin/linux/amd64/"
	want := map[string]string{folder + "kubelet": "kubelet_binary_checksum", folder + "kubeadm": "kubeadm_binary_checksum", folder + "kubectl": "kubectl_binary_checksum"}
	if !maps.Equal(got, want) || len(unknown) != len(want) {
		t.Errorf("pins %v, want %v; without a checksum are %v", got, want, unknown)
	}
	in.Request.DepotChecksums, in.ScratchDir = true, t.TempDir()
	if list, pins, err = List(t.Context(), in, ListPorts{execute, &bytes.Buffer{}}); err != nil || len(pins) < 8 {
		t.Errorf("with the depot's checksums: %d pins of %d files, %v", len(pins), len(list.Files), err)
	}
	for _, f := range list.Files {
		if f.SHA256 != "" {
			t.Errorf("with the depot's checksums the list has checksum %[2]s for %[1]s", f.Path, f.SHA256)
		}
	}
}
