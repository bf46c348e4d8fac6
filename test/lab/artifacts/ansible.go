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

// requirements are those of kubespray v2.31.0, to the letter.
var requirements = []string{"ansible==11.13.0", "cryptography==46.0.7", "jmespath==1.1.0", "netaddr==1.3.0"}

// collections are those that kubespray's galaxy.yml names, and what they need; the package ansible brings a hundred more.
var collections = []string{
	"ansible/netcommon", "ansible/posix", "ansible/utils", "community/crypto", "community/docker", "community/general",
	"community/library_inventory_filtering_v1", "kubernetes/core",
}

const (
	ansibleHome = "/opt/ansible"
	imagePython = "python3.11" // Debian 12's, in the image and on this machine
)

// makeAnsibleImages makes what kubespray's own image is: ansible-playbook on the path, playbooks in /kubespray. One image has this
// repository's compact playbooks, the other one the given checkout of kubespray. Only the last, small layer differs.
func (s *Site) makeAnsibleImages(ctx context.Context) error {
	system, err := s.systemLayer(ctx, osimage.Ansible)
	if err != nil {
		return err
	}
	venv, err := s.venvLayer(ctx)
	if err != nil {
		return err
	}
	roots := map[string]string{"latest": s.source("test", "playbooks")}
	if s.Kubespray != "" {
		roots["kubespray-"+KubesprayRelease] = s.Kubespray
	}
	for tag, root := range roots {
		playbooks, err := s.playbooksLayer("playbooks-"+tag, root)
		if err != nil {
			return err
		}
		err = s.push(ctx, image{"base/ansible:" + tag, []string{system, venv, playbooks}, v1.Config{
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

// Venv is the virtual environment on this machine; its bin/ansible-playbook works here too.
func (s *Site) Venv() string { return s.cache("ansible", "venv") }

// venvLayer packs the virtual environment. It is made once; what is left out of the layer may change without making it again.
func (s *Site) venvLayer(ctx context.Context) (string, error) {
	key := stamp.Key(append(append([]string{osimage.Ansible.Key()}, requirements...), collections...)...)
	err := s.once("virtual environment with ansible", key, []string{filepath.Join(s.Venv(), "bin", "ansible-playbook")}, func() error {
		return s.installVenv(ctx)
	})
	if err != nil {
		return "", err
	}
	out := s.layer("venv")
	return out, s.once("layer venv", stamp.Key(append([]string{key}, unwantedNames...)...), []string{out}, func() error {
		entries, err := pack.Tree(s.Venv(), strings.TrimPrefix(ansibleHome, "/"), unwanted)
		if err != nil {
			return err
		}
		for i := range entries {
			if err := s.moveScript(&entries[i]); err != nil {
				return err
			}
		}
		return pack.Gzip(out, entries)
	})
}

// installVenv uses Debian's python, the one of the image's root file system. Everything that ansible imports is compiled
// beforehand: the image is read-only where it runs.
func (s *Site) installVenv(ctx context.Context) error {
	venv := s.Venv()
	if err := os.RemoveAll(venv); err != nil {
		return err
	}
	if err := run(ctx, "", nil, "/usr/bin/python3", "-m", "venv", venv); err != nil {
		return err
	}
	pip := append([]string{"install", "--quiet", "--no-compile", "--only-binary=:all:"}, requirements...)
	if err := run(ctx, "", nil, filepath.Join(venv, "bin", "pip"), pip...); err != nil {
		return err
	}
	packages := filepath.Join(venv, "lib", imagePython, "site-packages")
	if _, err := os.Stat(packages); err != nil {
		return fmt.Errorf("the image has %s, this machine's /usr/bin/python3 is another: use Debian 12 (%w)", imagePython, err)
	}
	if err := prune(filepath.Join(packages, "ansible_collections")); err != nil {
		return err
	}
	return run(ctx, "", nil, filepath.Join(venv, "bin", "python3"), "-m", "compileall", "-q", "-j", "2", "-x", "/modules/|/ansible_test/|/pip/",
		"--invalidation-mode", "unchecked-hash", "-s", venv, "-p", ansibleHome, packages)
}

// prune removes the collections that nobody asked for.
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

// unwantedNames are what only installing takes; python would look for the folder _distutils_hack at each start if the .pth file stayed.
var unwantedNames = []string{
	"ansible_test", "pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth", "include",
}

func unwanted(rel string, d fs.DirEntry) bool {
	switch name := d.Name(); name {
	case "tests", "docs", "changelogs":
		return d.IsDir() && strings.Contains(rel, "ansible_collections")
	default:
		return slices.Contains(unwantedNames, name) && d.IsDir() != strings.HasSuffix(name, ".pth")
	}
}

// moveScript makes a script of the environment start with the python of where it will lie.
func (s *Site) moveScript(e *pack.Entry) error {
	if filepath.Base(filepath.Dir(e.Source)) != "bin" || e.Link != "" {
		return nil
	}
	content, err := os.ReadFile(e.Source)
	if err != nil {
		return err
	}
	e.Source, e.Content = "", bytes.ReplaceAll(content, []byte(s.Venv()), []byte(ansibleHome))
	return nil
}

// playbooksLayer is /kubespray: the playbooks in root, and the manifest of the lab's pod network, which variables name.
func (s *Site) playbooksLayer(name, root string) (string, error) {
	content, err := stamp.Content(root, s.source("test", "lab", "network.yml"))
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
		pack.Entry{Name: "kubespray/lab/network.yml", Source: s.source("test", "lab", "network.yml"), Mode: 0o644})
	return s.packedLayer(name, stamp.Key(root, content), entries...)
}
