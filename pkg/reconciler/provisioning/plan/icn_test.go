package plan

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/plugin"
	sitesettings "github.com/akraino-icn/bpa/pkg/settings"
)

// icnFiles returns the samples in ICN's shape and, if ICN names a checkout of ICN, ICN's own files.
func icnFiles(t *testing.T) (files []string) {
	t.Helper()
	patterns := []string{"../../../../config/samples/icn-*.yaml"}
	if icn := os.Getenv("ICN"); icn != "" {
		patterns = append(patterns, filepath.Join(icn, "cmd/bpa-operator/deploy/crds/*/*_cr*.yaml"), filepath.Join(icn, "cmd/bpa-operator/e2etest/*_cr*.yaml"))
	}
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, slices.DeleteFunc(found, func(file string) bool {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			return !strings.Contains(string(raw), "\nkind: Provisioning\n")
		})...)
	}
	return files
}

// icnProvisioning returns one of these files as BPA stores it, and what is known before its first run.
func icnProvisioning(t *testing.T, file string) (*v1alpha1.Provisioning, Seen) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &v1alpha1.Provisioning{}
	if err := yaml.UnmarshalStrict(raw, p); err != nil {
		t.Fatal(err)
	}
	p.SetDefaults(context.Background())
	request, err := from.Provisioning(p, sitesettings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	s := Seen{Name: p.Name, Request: request, Digest: "one", Inputs: "one", Hosts: &Need{}, SSH: &Need{}, Plugins: Plugins{Problem: from.PluginProblem(p)}}
	s.Qualify(&p.Spec, nil)
	return p, s
}

// TestICNFilesAreInstalled: BPA plans an installation for each file in ICN's shape. A retired plugin is Skipped
// after it, with the reason, and no second run follows.
func TestICNFilesAreInstalled(t *testing.T) {
	now := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	for _, file := range icnFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p, s := icnProvisioning(t, file)
			step := Next(s, now)
			if step.Do != StartRun || step.Plugins != (len(p.Spec.KUDPlugins) > 0) || len(step.Request.PluginVars)+len(step.Request.PluginGroups) > 0 {
				t.Fatalf("step %+v", step)
			}
			s = finishPlugins(s, step)
			s.InstalledDigest, s.Started = "one", step.Request
			s.Kubeconfig = &Kubeconfig{Endpoint: "https://x", Expires: now.Add(time.Hour)}
			s.Runs = []Run{{Name: p.Name + "-install-1", Number: 1, Digest: "one", Inputs: "one", State: Succeeded,
				Tasks: []Task{{Name: contract.TaskInstallPlugins, State: Succeeded}}}}
			if step = Next(s, now); step.Do != Stay {
				t.Errorf("after the installation: step %+v", step)
			}
			Report(p, s, step, nil, nil, now)
			if c := p.Status.GetCondition(v1alpha1.ConditionPluginsInstalled); c.Status != corev1.ConditionTrue {
				t.Errorf("PluginsInstalled %s %s: %s", c.Status, c.Reason, c.Message)
			}
			if len(p.Status.Plugins) != len(p.Spec.KUDPlugins) {
				t.Fatalf("plugins %+v", p.Status.Plugins)
			}
			for i, row := range p.Status.Plugins {
				state, reason := v1alpha1.PluginInstalled, ""
				if d := plugin.Shipped()[p.Spec.KUDPlugins[i]]; d.Status == plugin.Retired {
					state, reason = v1alpha1.PluginSkipped, d.Reason
				}
				if row.Name != p.Spec.KUDPlugins[i] || row.State != state || !strings.Contains(row.Message, reason) {
					t.Errorf("plugin %s %s: %s, want %s: %s", row.Name, row.State, row.Message, state, reason)
				}
			}
		})
	}
}

// TestRetiredAfterwards: a plugin that was installed before it was retired stays in the cluster until a user
// removes its name.
func TestRetiredAfterwards(t *testing.T) {
	p, s := icnProvisioning(t, "../../../../config/samples/icn-plugins-pod-subnet.yaml")
	s.InstalledDigest, s.Plugins.Record = "one", []contract.PluginStatus{{Name: "emco", Version: "v1", State: contract.PluginInstalled}}
	s.Qualify(&p.Spec, nil)
	if got := s.Plugins.Problem; !strings.HasPrefix(got, "plugin emco is in the cluster, and it is retired: ") || !strings.HasSuffix(got, ". Remove it from spec.KUDPlugins, and BPA removes it from the cluster") {
		t.Errorf("problem %q", got)
	}
	if s.installsPlugins(contract.OperationPlugins) || s.PluginChange() != "" {
		t.Error("a run changes the plugins")
	}
	s.Request.Plugins, s.Plugins.Problem, p.Spec.KUDPlugins = nil, "", nil
	if s.Qualify(&p.Spec, nil); s.PluginChange() != "remove emco" {
		t.Errorf("after an edit: %q", s.PluginChange())
	}
}
