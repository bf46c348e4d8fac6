//go:build kubespray

package matrix

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/settings"
	"github.com/akraino-icn/bpa/pkg/tasks/seedregistry"
)

var update = flag.Bool("update", false, "write the table into docs/matrix.md")

// page is the page that the test writes. The template has a %s for the table.
const page = "../../docs/matrix.md"

//go:embed page.md
var template string

var (
	plugins = []string{"calico", "cilium", "cni", "flannel", "kube-ovn", "kube-router", "macvlan", "none"}
	systems = []string{"debian-12", "ubuntu-24.04", "rocky-9.5"}
	// ran are the combinations that the tests of the lab install.
	ran = map[string]string{"flannel debian-12": "run"}
	// elsewhere matches what the list says of a file that is not in the depot.
	elsewhere = regexp.MustCompile(`Nodes fetch (\S+) from outside the depot`)
	// imageOf matches an image in a template of kubespray, by the variable of its repository.
	imageOf = regexp.MustCompile(`image: [^\n]*?\{\{ *(\w+_image_repo) *\}\}`)
)

// TestMatrix evaluates the lists of all combinations, and compares the table in docs/matrix.md with them. It runs the
// ansible-playbook on the PATH, on the checkout KUBESPRAY.
func TestMatrix(t *testing.T) {
	kubespray := os.Getenv("KUBESPRAY")
	if kubespray == "" {
		t.Fatal("KUBESPRAY is not set: run make matrix")
	}
	var table strings.Builder
	table.WriteString("| network plugin | operating system | images | files | packages | closed site | connected site |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, plugin := range plugins {
		missing := withoutDownload(t, kubespray, plugin)
		for _, system := range systems {
			fmt.Fprintln(&table, row(t, kubespray, plugin, system, missing))
		}
	}
	fmt.Fprintf(&table, "\nInputs: kubespray %s (roles, sha256:%s) and the list of BPA (sha256:%s).\n", release(t, kubespray),
		digest(t, filepath.Join(kubespray, "roles")), digest(t, "../../pkg/tasks/seedregistry"))
	want := fmt.Sprintf(template, table.String())
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text, err := os.ReadFile(page); err != nil || string(text) != want {
		t.Errorf("%s is not current (%v): run make matrix\n%s", page, err, table.String())
	}
}

// row evaluates one combination.
func row(t *testing.T, kubespray, plugin, system string, missing []string) string {
	t.Helper()
	p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "edge-1"}}
	p.Spec.NodeSets = []v1alpha1.NodeSet{{Name: "m", Role: v1alpha1.RoleControlPlane, Count: v1alpha1.NodeCount{Active: 1}}, {Name: "w", Count: v1alpha1.NodeCount{Active: 1}}}
	p.Spec.OperatingSystem, p.Spec.Kubernetes.NetworkPlugin = system, plugin
	p.SetDefaults(t.Context())
	if errs := admission.CheckProvisioning(t.Context(), p); errs != nil {
		return fmt.Sprintf("| %s | %s | | | | refused: %s | |", plugin, system, strings.ReplaceAll(errs.Error(), "\n", " "))
	}
	request, err := from.Provisioning(p, settings.Depot{URL: "https://10.60.0.1:5443"})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	in := seedregistry.ListInput{Request: request, PlaybooksDir: kubespray, ScratchDir: t.TempDir()}
	list, _, err := seedregistry.List(t.Context(), in, seedregistry.ListPorts{Playbook: execute, Log: &log})
	if err != nil {
		return fmt.Sprintf("| %s | %s | | | | no list: %v | |", plugin, system, err)
	}
	verdict := "list checked"
	if what := ran[plugin+" "+system]; what != "" {
		verdict = what
	}
	closed, connected := verdict, "list checked"
	if outside := outside(log.String(), list, missing); outside != "" {
		closed = outside
	}
	t.Logf("%s on %s: %s", plugin, system, closed)
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %s | %s |", plugin, system, len(list.Images), len(list.Files), len(list.Packages), closed, connected)
}

// outside returns what nodes of a closed site would fetch from elsewhere; empty: nothing.
func outside(log string, list artifacts.List, missing []string) string {
	var all []string
	for _, m := range elsewhere.FindAllStringSubmatch(log, -1) {
		all = append(all, m[1])
	}
	for _, name := range missing {
		all = append(all, "the image of "+name)
	}
	for _, p := range list.Packages {
		if !strings.HasPrefix(p.System, "debian-") && !strings.HasPrefix(p.System, "ubuntu-") {
			all = append(all, "packages: the site needs a mirror of "+p.System+", or an image with them")
			break
		}
	}
	return strings.Join(all, "; ")
}

// withoutDownload returns the variables of images in the templates of a plugin that neither kubespray's downloads nor
// BPA's own playbook have: an installation pulls these images, and the list does not have them.
func withoutDownload(t *testing.T, kubespray, plugin string) (missing []string) {
	t.Helper()
	downloads, err := os.ReadFile(filepath.Join(kubespray, "roles/kubespray_defaults/defaults/main/download.yml"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("../../pkg/tasks/seedregistry/kubespray.yml")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(kubespray, "roles/network_plugin", plugin), func(file string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) { // such as "none"
			return nil
		}
		if err != nil || d.IsDir() || filepath.Ext(file) != ".j2" {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range imageOf.FindAllSubmatch(text, -1) {
			name := string(m[1])
			listed := strings.Contains(string(downloads), `repo: "{{ `+name+` }}"`) || strings.Contains(string(own), name)
			if !listed && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return missing
}

func execute(ctx context.Context, c process.Command, stdout, stderr io.Writer) (int, error) {
	return process.Exec(ctx, process.KillAfter, c, stdout, stderr)
}

func release(t *testing.T, kubespray string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(kubespray, "galaxy.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^version: *(\S+)$`).FindStringSubmatch(string(text))[1]
}

// digest returns the first 16 digits of the digest of all files below a folder.
func digest(t *testing.T, folder string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", strings.TrimPrefix(path, folder), len(text), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))[:16]
}
