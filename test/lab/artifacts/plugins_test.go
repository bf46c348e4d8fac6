package artifacts

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/plugins"
)

// installable are the plugins that the lab can install. The others need hardware.
var installable = []string{"multus", "nfd", "metrics-server", "cpu-manager"}

// TestDepotHasTheImagesOfPlugins checks that the definitions and the images that the lab builds have
// the same versions.
func TestDepotHasTheImagesOfPlugins(t *testing.T) {
	all, err := plugin.LoadAll(plugins.FS)
	if err != nil {
		t.Fatal(err)
	}
	b := &Builder{State: t.TempDir()}
	unused := map[string]bool{}
	built := []string{"library/busybox:" + busyboxTag}
	for _, i := range b.pluginImages() {
		unused[i.name], built = true, append(built, i.name)
	}
	for _, name := range installable {
		for _, image := range all[name].Images {
			_, place, _ := strings.Cut(image, "/") // nodes find images of all registries in the depot
			if !slices.Contains(built, place) {
				t.Errorf("plugin %s names %s, but the lab builds only %v", name, image, built)
			}
			delete(unused, place)
		}
	}
	for name := range unused {
		t.Errorf("the lab builds %s, but no plugin of %v names it", name, installable)
	}
}

// TestPluginImagesHaveUpstreamsPaths checks the paths that the definitions run, and that the programs
// of multus copy.
func TestPluginImagesHaveUpstreamsPaths(t *testing.T) {
	b := &Builder{State: t.TempDir()}
	want := map[string][]string{
		"k8snetworkplumbingwg/multus-cni:v" + multusVersion:      {"install_multus", "thin_entrypoint", "usr/src/multus-cni/bin/multus", "usr/src/multus-cni/bin/passthru"},
		"nfd/node-feature-discovery:v" + nfdVersion:              {"usr/bin/nfd-gc", "usr/bin/nfd-master", "usr/bin/nfd-worker"},
		"metrics-server/metrics-server:v" + metricsServerVersion: {"metrics-server"},
		"kubectl:v" + kubeVersion:                                {"bin/kubectl"},
	}
	for _, i := range b.pluginImages() {
		var paths []string
		for source, path := range i.programs {
			paths = append(paths, path)
			if len(i.packages) > 0 && !slices.ContainsFunc(i.packages, func(p string) bool { return strings.HasSuffix(source, "/"+program(p)) }) {
				t.Errorf("%s: no package builds %s", i.name, source)
			}
		}
		slices.Sort(paths)
		if !slices.Equal(paths, want[i.name]) {
			t.Errorf("%s has %v, want %v", i.name, paths, want[i.name])
		}
		if i.module != "" {
			if _, err := os.Stat("../modules/" + i.module + "/go.mod"); err != nil {
				t.Errorf("%s: %v", i.name, err)
			}
		}
	}
}
