package artifacts

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/test/lab/pack"
	"github.com/akraino-icn/bpa/test/lab/stamp"
)

// The tags under which kubespray v2.31.0 pulls flannel and its CNI plugin. The CNI plugin behind the second tag is older:
// see test/lab/modules/flannel-cni.
const (
	flannelTag    = "v0.28.4"
	flannelCNITag = "v1.7.1-flannel1"
)

// flannelImages builds the pod network that a Provisioning has by default. The images replace upstream's of the same
// names: their programs are at the same paths, and cp is there, which the init containers run.
func (b *Builder) flannelImages(ctx context.Context) ([]image, error) {
	if b.Kubespray == "" { // the stand-in playbooks install the lab's own pod network only
		return nil, nil
	}
	daemon, err := b.flannel(ctx)
	if err != nil {
		return nil, err
	}
	plugin := b.cache("flannel-cni", "flannel")
	if err := b.goBuild(ctx, "test/lab/modules/flannel-cni", "", filepath.Dir(plugin), "github.com/containernetworking/plugins/plugins/meta/flannel"); err != nil {
		return nil, err
	}
	tools, links, err := b.proxyLayers(ctx)
	if err != nil {
		return nil, err
	}
	busybox, err := b.busyboxImage(ctx)
	if err != nil {
		return nil, err
	}
	daemonLayer, err := b.packedLayer("flannel", stamp.Key(stamp.FileKey(daemon)), pack.Entry{Name: "opt/bin/flanneld", Source: daemon})
	if err != nil {
		return nil, err
	}
	pluginLayer, err := b.packedLayer("flannel-cni", stamp.Key(stamp.FileKey(plugin)), pack.Entry{Name: "flannel", Source: plugin})
	if err != nil {
		return nil, err
	}
	env := []string{searchPath}
	return []image{
		{"flannel/flannel:" + flannelTag, append([]string{tools, links, daemonLayer}, busybox.layers...), v1.Config{Env: env, Entrypoint: []string{"/opt/bin/flanneld"}}},
		{"flannel/flannel-cni-plugin:" + flannelCNITag, append([]string{pluginLayer}, busybox.layers...), v1.Config{Env: env}},
	}, nil
}

// flannel builds flanneld without the backend udp, the only part that needs a C compiler. kubespray cannot select it.
func (b *Builder) flannel(ctx context.Context) (program string, err error) {
	const dir, module = "test/lab/modules/flannel", "github.com/flannel-io/flannel"
	modfile, err := b.flannelSource(ctx, b.source(dir), module)
	if err != nil {
		return "", err
	}
	flags := []string{"-modfile=" + modfile, "-ldflags=-s -w -X " + module + "/pkg/version.Version=" + flannelTag}
	return b.cache("flannel", "flannel"), b.goBuildWith(ctx, dir, flags, b.cache("flannel"), module)
}

// flannelSource makes a copy of the module without its backend udp, and a go.mod that is the one in dir with this copy.
func (b *Builder) flannelSource(ctx context.Context, dir, module string) (modfile string, err error) {
	gomod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	gosum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return "", err
	}
	source := b.cache("flannel-source")
	modfile = filepath.Join(source, "lab.mod")
	return modfile, b.once("source of flannel", stamp.Key(string(gomod), string(gosum)), []string{modfile}, func() error {
		download := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
		download.Dir = dir
		out, err := download.Output()
		if err != nil {
			return fmt.Errorf("download %s: %w\n%s", module, err, out)
		}
		var found struct{ Dir string }
		if err := json.Unmarshal(out, &found); err != nil {
			return err
		}
		if err := run(ctx, "", nil, "rm", "-rf", source); err != nil {
			return err
		}
		if err := run(ctx, "", nil, "cp", "-r", "--no-preserve=mode", found.Dir, source); err != nil {
			return err
		}
		udp := filepath.Join(source, "pkg", "backend", "udp")
		if err := os.RemoveAll(udp); err != nil {
			return err
		}
		for path, content := range map[string]string{
			filepath.Join(udp, "udp.go"):     "package udp // flannel's main imports it\n",
			filepath.Join(source, "lab.sum"): string(gosum),
			modfile:                          string(gomod) + "\nreplace " + module + " => " + source + "\n",
		} {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				return err
			}
		}
		return nil
	})
}
