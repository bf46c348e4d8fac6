package artifacts

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/lab/pack"
	"github.com/akraino-icn/bpa/test/lab/stamp"
)

// collections are the Ansible collections in kubespray's galaxy.yml, and the collections that these
// need. The Python package ansible contains a hundred more, which prune removes.
var collections = []string{
	"ansible/netcommon", "ansible/posix", "ansible/utils", "community/crypto", "community/docker", "community/general",
	"community/library_inventory_filtering_v1", "kubernetes/core",
}

const (
	ansibleHome = "/opt/ansible"
	imagePython = "python3.11" // the Python of Debian 12, which the image and this machine have
)

// makeAnsibleImages builds images with the layout of kubespray's own image: ansible-playbook in
// PATH and playbooks in /kubespray. One image has the compact playbooks of this repository. If
// Kubespray is set, a second image has the playbooks of that checkout. The images differ only in
// the last, small layer.
func (b *Builder) makeAnsibleImages(ctx context.Context) error {
	system, err := b.systemLayer(ctx, osimage.Ansible)
	if err != nil {
		return err
	}
	venv, err := b.venvLayer(ctx)
	if err != nil {
		return err
	}
	roots := map[string]string{"latest": b.source("test", "playbooks")}
	if b.Kubespray != "" {
		roots["kubespray-"+KubesprayRelease] = b.Kubespray
	}
	for tag, root := range roots {
		playbooks, err := b.playbooksLayer("playbooks-"+tag, root)
		if err != nil {
			return err
		}
		err = b.push(ctx, image{"base/ansible:" + tag, []string{system, venv, playbooks}, v1.Config{
			User:       "65532:65532",
			WorkingDir: "/kubespray",
			Env:        []string{"PATH=" + ansibleHome + "/bin:" + strings.TrimPrefix(searchPath, "PATH="), "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1"},
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// Venv returns the path of the virtual environment on this machine. Its bin/ansible-playbook works
// on this machine too, and not only in the image.
func (b *Builder) Venv() string { return b.cache("ansible", "venv") }

// requirements returns the path of the list of Python packages, with the hash of each.
func (b *Builder) requirements() string { return b.source("cmd", "kubespray", "requirements.txt") }

// venvLayer creates the virtual environment and packs it as a layer. After a change of
// unwantedNames it only packs the layer again.
func (b *Builder) venvLayer(ctx context.Context) (string, error) {
	requirements, err := os.ReadFile(b.requirements())
	if err != nil {
		return "", err
	}
	key := stamp.Key(append([]string{osimage.Ansible.Key(), string(requirements)}, collections...)...)
	err = b.once("virtual environment with ansible", key, []string{filepath.Join(b.Venv(), "bin", "ansible-playbook")}, func() error {
		return b.installVenv(ctx)
	})
	if err != nil {
		return "", err
	}
	out := b.layer("venv")
	return out, b.once("layer venv", stamp.Key(append([]string{key}, unwantedNames...)...), []string{out}, func() error {
		entries, err := pack.Tree(b.Venv(), strings.TrimPrefix(ansibleHome, "/"), unwanted)
		if err != nil {
			return err
		}
		for i := range entries {
			if err := b.relocateScript(&entries[i]); err != nil {
				return err
			}
		}
		return pack.Gzip(out, entries)
	})
}

// installVenv creates the virtual environment with Debian's Python, which the image has too. It
// compiles all modules that Ansible imports, because the image's file system is read-only at run
// time.
func (b *Builder) installVenv(ctx context.Context) error {
	venv := b.Venv()
	if err := os.RemoveAll(venv); err != nil {
		return err
	}
	if err := run(ctx, "", nil, "/usr/bin/python3", "-m", "venv", venv); err != nil {
		return err
	}
	err := run(ctx, "", nil, filepath.Join(venv, "bin", "pip"), "install", "--quiet", "--no-compile", "--no-deps", "--only-binary=:all:",
		"--require-hashes", "--requirement", b.requirements())
	if err != nil {
		return err
	}
	packages := filepath.Join(venv, "lib", imagePython, "site-packages")
	if _, err := os.Stat(packages); err != nil {
		return fmt.Errorf("the image has %s, but /usr/bin/python3 of this machine is another version: build on Debian 12 (%w)", imagePython, err)
	}
	if err := prune(filepath.Join(packages, "ansible_collections")); err != nil {
		return err
	}
	return run(ctx, "", nil, filepath.Join(venv, "bin", "python3"), "-m", "compileall", "-q", "-j", "2", "-x", "/modules/|/ansible_test/|/pip/",
		"--invalidation-mode", "unchecked-hash", "-s", venv, "-p", ansibleHome, packages)
}

// prune removes all collections below dir that are not listed in collections.
func prune(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		return err
	}
	for _, n := range names {
		rel, err := filepath.Rel(dir, n)
		if err != nil {
			return err
		}
		if slices.Contains(collections, rel) {
			continue
		}
		if err := os.RemoveAll(n); err != nil {
			return err
		}
	}
	return nil
}

// unwantedNames are files and folders that only an installation needs. The .pth file must be one of
// them, because it makes Python search the folder _distutils_hack at each start.
var unwantedNames = []string{
	"ansible_test", "pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth", "include",
}

// unwanted reports whether the layer omits an entry of the virtual environment.
func unwanted(rel string, d fs.DirEntry) bool {
	switch name := d.Name(); name {
	case "tests", "docs", "changelogs":
		return d.IsDir() && strings.Contains(rel, "ansible_collections")
	default:
		return slices.Contains(unwantedNames, name) && d.IsDir() != strings.HasSuffix(name, ".pth")
	}
}

// relocateScript replaces the path of the virtual environment in a script of its bin folder with
// the path in the image.
func (b *Builder) relocateScript(e *pack.Entry) error {
	if filepath.Base(filepath.Dir(e.Source)) != "bin" || e.Link != "" {
		return nil
	}
	content, err := os.ReadFile(e.Source)
	if err != nil {
		return err
	}
	e.Source, e.Content = "", bytes.ReplaceAll(content, []byte(b.Venv()), []byte(ansibleHome))
	return nil
}

// playbooksLayer packs the folder /kubespray: the playbooks in root, and the manifest of the lab's
// pod network, which the variable custom_cni_manifests names.
func (b *Builder) playbooksLayer(name, root string) (string, error) {
	content, err := stamp.ContentKey(root, b.source("test", "lab", "network.yml"))
	if err != nil {
		return "", err
	}
	entries, err := pack.Tree(root, "kubespray", func(rel string, d fs.DirEntry) bool {
		return slices.Contains([]string{".git", "docs", "tests", "test-infra", "logo"}, rel) || d.Name() == "__pycache__"
	})
	if err != nil {
		return "", err
	}
	entries = append(entries,
		pack.Entry{Name: "kubespray/lab", Dir: true},
		pack.Entry{Name: "kubespray/lab/network.yml", Source: b.source("test", "lab", "network.yml"), Mode: 0o644})
	return b.packedLayer(name, stamp.Key(root, content), entries...)
}
