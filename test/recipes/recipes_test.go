//go:build kubespray

package recipes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/secretvars"
	"github.com/akraino-icn/bpa/pkg/settings"
	"github.com/akraino-icn/bpa/pkg/tasks/seedregistry"
)

// base is the Provisioning that a recipe is a part of.
const base = `
metadata: {name: edge-1, namespace: site-a}
spec:
  operatingSystem: debian-12
  nodeSets:
  - {name: master, role: control-plane, count: {active: 1}}
`

// rendered is a file that a role of kubespray renders, and texts that it must contain.
type rendered struct {
	role, template string
	wants          []string
}

// recipe is what a section of the page promises.
type recipe struct {
	secrets map[string]json.RawMessage // values of the variables in Secrets
	files   []rendered
	// tasks is a file of tasks of the role calico that calls calicoctl. wants are texts that calicoctl must read.
	tasks string
	wants []string
	// images are repositories that the depot's list must contain.
	images []string
}

const controlPlane = "kubernetes/control-plane"

var recipes = map[string]recipe{
	"Credentials of a registry": {
		secrets: map[string]json.RawMessage{"registry_basic": json.RawMessage(`"cm9ib3Q6cHc="`)},
		files: []rendered{{"container-engine/containerd", "hosts.toml.j2", []string{
			`server = "https://registry.example"`, `[host."https://registry.example".header]`, `Authorization = ["Basic cm9ib3Q6cHc="]`,
		}}},
	},
	"Users of an identity provider": {files: []rendered{{controlPlane, "kubeadm-config.v1beta4.yaml.j2", []string{
		"name: oidc-issuer-url\n    value: \"https://login.example/realms/edge\"", "name: oidc-client-id\n    value: \"kubernetes\"",
		"name: oidc-groups-prefix\n    value: \"oidc:\"", "name: oidc-username-claim\n    value: \"email\"",
	}}}},
	"Secrets encrypted in etcd": {
		secrets: map[string]json.RawMessage{"kube_encrypt_token": json.RawMessage(`"0123456789abcdef0123456789abcdef"`)},
		files: []rendered{
			{controlPlane, "secrets_encryption.yaml.j2", []string{"secretbox:", "secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "- secrets"}},
			{controlPlane, "kubeadm-config.v1beta4.yaml.j2", []string{"name: encryption-provider-config\n    value: \"/etc/kubernetes/ssl/secrets_encryption.yaml\""}},
		},
	},
	"Routes of the pods by BGP": {
		tasks:  "peer_with_router.yml",
		wants:  []string{`"kind": "BGPPeer"`, `"name": "global-rack-1"`, `"asNumber": "64500"`, `"peerIP": "10.10.0.1"`},
		images: []string{"calico/node"},
	},
	"Addresses for Services of type LoadBalancer": {
		files: []rendered{
			{"kubernetes-apps/metallb", "pools.yaml.j2", []string{"kind: IPAddressPool", "name: \"site\"", `- "10.10.0.200-10.10.0.220"`}},
			{"kubernetes-apps/metallb", "layer2.yaml.j2", []string{"kind: L2Advertisement", `- "site"`}},
			{controlPlane, "kubeadm-config.v1beta4.yaml.j2", []string{"strictARP: True"}},
		},
		images: []string{"metallb/speaker", "metallb/controller"},
	},
	"Volumes on the nodes' own disks": {
		files: []rendered{
			{"kubernetes-apps/external_provisioner/local_path_provisioner", "local-path-storage-cm.yml.j2", []string{"/var/lib/volumes"}},
			{"kubernetes-apps/external_provisioner/local_path_provisioner", "local-path-storage-sc.yml.j2", []string{`storageclass.kubernetes.io/is-default-class: "true"`}},
		},
		images: []string{"rancher/local-path-provisioner", "busybox"},
	},
	"GPUs": {files: []rendered{{"container-engine/containerd", "config.toml.j2", []string{
		`containerd.runtimes.nvidia]`, `runtime_type = "io.containerd.runc.v2"`, `BinaryName = "/usr/bin/nvidia-container-runtime"`, "SystemdCgroup = true",
	}}}},
}

var (
	section = regexp.MustCompile(`(?m)^### (.+)$`)
	block   = regexp.MustCompile("(?s)```yaml\n(.*?)```")
)

// TestRecipesOnKubespray evaluates each recipe of the page. It runs the ansible-playbook on the PATH, on the checkout KUBESPRAY.
func TestRecipesOnKubespray(t *testing.T) {
	if os.Getenv("KUBESPRAY") == "" {
		t.Fatal("KUBESPRAY is not set")
	}
	written := onPage(t)
	for name := range recipes {
		if written[name] == "" {
			t.Errorf("the page has no recipe %q", name)
		}
	}
	for name, text := range written {
		t.Run(name, func(t *testing.T) {
			r, known := recipes[name]
			if !known {
				t.Fatal("the test does not know this recipe")
			}
			evaluate(t, text, r)
		})
	}
}

// onPage returns the first YAML block of each recipe that has one.
func onPage(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/day-one.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := bytes.Cut(text, []byte("\n## Recipes\n"))
	if !found {
		t.Fatal("the page has no recipes")
	}
	all := map[string]string{}
	starts := section.FindAllSubmatchIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if found := block.FindSubmatch(text[at[1]:end]); found != nil {
			all[string(text[at[2]:at[3]])] = string(found[1])
		}
	}
	return all
}

// evaluate lists what a cluster with this recipe needs, and renders the files of the recipe with the same inventory.
func evaluate(t *testing.T, fragment string, r recipe) {
	t.Helper()
	p := &v1alpha1.Provisioning{}
	for _, text := range []string{base, fragment} {
		if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
			t.Fatal(err)
		}
	}
	p.SetDefaults(t.Context())
	if errs := admission.CheckProvisioning(t.Context(), p); errs != nil {
		t.Fatalf("the webhook says: %v", errs)
	}
	request, err := from.Provisioning(p, settings.Depot{URL: "https://10.60.0.1:5443"})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	in := seedregistry.ListInput{Request: request, PlaybooksDir: os.Getenv("KUBESPRAY"), ScratchDir: t.TempDir()}
	player := &player{t: t, recipe: r, scratch: in.ScratchDir}
	list, _, err := seedregistry.List(t.Context(), in, seedregistry.ListPorts{Playbook: player.play, Log: &log})
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	for _, repository := range r.images {
		if !slices.ContainsFunc(list.Images, func(i artifacts.Image) bool { return strings.Contains(i.Ref, repository) }) {
			t.Errorf("the list has no image %s: %v", repository, list.Images)
		}
	}
	player.compare()
}

// player plays the list's playbook, and then one that renders the files of a recipe.
type player struct {
	t       *testing.T
	recipe  recipe
	scratch string
}

func (p *player) at(name string) string { return filepath.Join(p.scratch, name) }

func (p *player) out(i int) string { return p.at(fmt.Sprintf("recipe-%d.out", i)) }

func (p *player) play(ctx context.Context, c process.Command, stdout, stderr io.Writer) (int, error) {
	code, err := process.Exec(ctx, process.KillAfter, c, stdout, stderr)
	if code != 0 || err != nil {
		return code, err
	}
	p.prepare()
	c.Args = slices.Clone(c.Args)
	c.Args[len(c.Args)-1] = p.at("recipe.yml")
	return process.Exec(ctx, process.KillAfter, c, stdout, stderr)
}

// prepare writes the playbook, and the variables in Secrets as the task kubespray writes them. A role that runs
// never gives its variables to the play.
func (p *player) prepare() {
	roles := []string{"kubespray_defaults"}
	var tasks []string
	for i, f := range p.recipe.files {
		roles = append(roles, f.role)
		task := fmt.Sprintf("template: {src: %s, dest: %s}", kubespray("roles", f.role, "templates", f.template), p.out(i))
		if f.template == "hosts.toml.j2" {
			task += "\n    loop: \"{{ containerd_registries_mirrors | selectattr('prefix', 'equalto', 'registry.example') }}\""
		}
		tasks = append(tasks, task)
	}
	if p.recipe.tasks != "" {
		tasks = append(tasks, "import_tasks: "+kubespray("roles/network_plugin/calico/tasks", p.recipe.tasks))
		p.write("bin/calicoctl.sh", "#!/bin/sh\ncat >>"+p.out(len(p.recipe.files))+"\n", 0o700)
	}
	secrets, err := secretvars.Ansible(p.recipe.secrets)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write("inventory/group_vars/all/secrets.yml", string(secrets), 0o600)
	p.write("recipe.yml", "- hosts: kube_control_plane\n  gather_facts: false\n  vars: {bin_dir: "+p.at("bin")+", apiserver_sans: []}\n  roles:\n  - {when: false, role: "+
		strings.Join(roles, "}\n  - {when: false, role: ")+"}\n  tasks:\n  - "+strings.Join(tasks, "\n  - ")+"\n", 0o600)
}

func kubespray(parts ...string) string {
	return filepath.Join(append([]string{os.Getenv("KUBESPRAY")}, parts...)...)
}

func (p *player) write(name, text string, mode os.FileMode) {
	if err := os.MkdirAll(filepath.Dir(p.at(name)), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.at(name), []byte(text), mode); err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) compare() {
	p.t.Helper()
	for i, f := range p.recipe.files {
		p.contains(i, f.role+"/"+f.template, f.wants)
	}
	if p.recipe.tasks != "" {
		p.contains(len(p.recipe.files), p.recipe.tasks, p.recipe.wants)
	}
}

func (p *player) contains(i int, what string, wants []string) {
	p.t.Helper()
	text, err := os.ReadFile(p.out(i))
	if err != nil {
		p.t.Errorf("%s: %v", what, err)
		return
	}
	for _, want := range wants {
		if !strings.Contains(string(text), want) {
			p.t.Errorf("%s has no %q:\n%s", what, want, text)
		}
	}
}
