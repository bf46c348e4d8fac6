package artifacts

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/test/lab/pack"
	"github.com/akraino-icn/bpa/test/lab/stamp"
)

// Versions of the software that plugins install, as in their definitions (plugins/).
const (
	multusVersion        = "4.2.4"
	nfdVersion           = "0.17.3"
	metricsServerVersion = "0.7.2"
)

// pluginImage is an image that a plugin names. It replaces upstream's image of the same name, which
// cannot be pulled in a lab: the same programs from Go modules at the same paths, with the same user.
type pluginImage struct {
	name     string            // repository:tag
	module   string            // folder below test/lab/modules; "" if the programs exist already
	ldflags  string            // for the module
	packages []string          // to build
	programs map[string]string // path in the image by the path on this machine
	config   v1.Config
}

// makePluginImages builds the images of the plugins that run on lab nodes, and of their tests.
func (b *Builder) makePluginImages(ctx context.Context) error {
	for _, i := range b.pluginImages() {
		if i.module != "" {
			if err := b.goBuild(ctx, "test/lab/modules/"+i.module, i.ldflags, b.cache(i.module), i.packages...); err != nil {
				return err
			}
		}
		layer, err := b.pluginLayer(i)
		if err != nil {
			return err
		}
		if err := b.push(ctx, image{i.name, []string{layer}, i.config}); err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) pluginImages() []pluginImage {
	return []pluginImage{b.multusImage(), b.nfdImage(), b.metricsServerImage(), b.kubectlImage()}
}

func (b *Builder) pluginLayer(i pluginImage) (string, error) {
	var entries []pack.Entry
	var key []string
	for _, path := range slices.Sorted(maps.Keys(i.programs)) {
		entries = append(entries, pack.Entry{Name: i.programs[path], Source: path})
		key = append(key, i.programs[path], stamp.FileKey(path))
	}
	name, _, _ := strings.Cut(filepath.Base(i.name), ":")
	return b.packedLayer("plugin-"+name, stamp.Key(key...), entries...)
}

// multusImage is the thin variant: the kubelet runs multus as a CNI plugin, and the DaemonSet installs
// and configures it.
func (b *Builder) multusImage() pluginImage {
	const source = "gopkg.in/k8snetworkplumbingwg/multus-cni.v4/"
	i := pluginImage{
		name:     "k8snetworkplumbingwg/multus-cni:v" + multusVersion,
		module:   "multus",
		ldflags:  "-X " + source + "pkg/multus.version=v" + multusVersion,
		programs: map[string]string{},
		config:   v1.Config{Entrypoint: []string{"/thin_entrypoint"}, WorkingDir: "/", Env: []string{searchPath}},
	}
	for _, p := range []struct{ program, path string }{
		{"install_multus", "install_multus"},
		{"thin_entrypoint", "thin_entrypoint"},
		{"multus", "usr/src/multus-cni/bin/multus"},
		{"passthru-cni", "usr/src/multus-cni/bin/passthru"},
	} {
		i.packages = append(i.packages, source+"cmd/"+p.program)
		i.programs[b.cache(i.module, p.program)] = p.path
	}
	return i
}

func (b *Builder) nfdImage() pluginImage {
	const source = "sigs.k8s.io/node-feature-discovery/"
	i := pluginImage{
		name:   "nfd/node-feature-discovery:v" + nfdVersion,
		module: "nfd",
		// The DaemonSet mounts folders of the node below /host-*.
		ldflags:  "-X " + source + "pkg/version.version=v" + nfdVersion + " -X " + source + "pkg/utils/hostpath.pathPrefix=/host-",
		programs: map[string]string{},
		config:   v1.Config{User: "65534:65534", Env: []string{searchPath, "GRPC_GO_LOG_SEVERITY_LEVEL=INFO"}},
	}
	for _, program := range []string{"nfd-master", "nfd-worker", "nfd-gc"} {
		i.packages = append(i.packages, source+"cmd/"+program)
		i.programs[b.cache(i.module, program)] = "usr/bin/" + program
	}
	return i
}

func (b *Builder) metricsServerImage() pluginImage {
	const module = "metrics-server"
	return pluginImage{
		name:     "metrics-server/metrics-server:v" + metricsServerVersion,
		module:   module,
		packages: []string{"github.com/akraino-icn/bpa/test/lab/modules/metrics-server"},
		programs: map[string]string{b.cache(module, "metrics-server"): "metrics-server"},
		config:   v1.Config{User: "65534", Entrypoint: []string{"/metrics-server"}, Env: []string{searchPath}},
	}
}

// kubectlImage is the image of the tests of plugins that ask the API server.
func (b *Builder) kubectlImage() pluginImage {
	return pluginImage{
		name:     "kubectl:v" + kubeVersion,
		programs: map[string]string{b.bin("kubectl"): "bin/kubectl"},
		config:   v1.Config{Entrypoint: []string{"/bin/kubectl"}, Env: []string{searchPath}},
	}
}
