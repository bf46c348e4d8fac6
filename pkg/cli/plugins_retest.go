package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

func newPluginsTest(s *session) *cobra.Command {
	var timeout time.Duration
	var d serverDryRun
	cmd := &cobra.Command{
		Use:   "test CLUSTER NAME",
		Short: "Run the test of a plugin in a cluster again",
		Long: `Run the test of a plugin in a cluster again. CLUSTER is the name of a Provisioning.

The command requests another run, as "kubectl bpa retry" does, and waits for its end. The
run applies all plugins of the cluster again, which repairs what was changed by hand, and
tests each of them. It changes no node that is as it should be.

` + exitCodes(),
		Example: "  kubectl bpa plugins test edge-1 multus\n  kubectl bpa plugins test edge-1 nfd -n site-a --timeout=10m",
		Args:    onePlugin("CLUSTER", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(checkTimeout(timeout, "", true), d.check(false)); err != nil {
				return err
			}
			return s.testPlugin(cmd.Context(), args[0], args[1], timeout, d)
		},
	}
	d.add(cmd)
	completeArgs(cmd, s.clusterNames(), pluginNames)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "stop after this time, such as 10m; 0: no limit")
	return cmd
}

func (s *session) testPlugin(ctx context.Context, name, plugin string, timeout time.Duration, d serverDryRun) error {
	ctx, cancel := withTimeout(ctx, timeout)
	defer cancel()
	site, p, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	if err := site.canTest(p, plugin); err != nil {
		return err
	}
	before := p.DeepCopy()
	if err := d.of(site).ask(ctx, p, contract.AnnotationRetry, s.stamp(), "a run for the plugins"); err != nil {
		return err
	}
	if d.on() {
		return s.unchanged("A test of plugin " + plugin + " in " + p.Name + " can be requested")
	}
	last, err := s.follow(ctx, site, p, func(now *v1alpha1.Provisioning) bool { return ranAgain(before, now) })
	if err != nil {
		return stopped(ctx, err, last, timeout)
	}
	return s.testResult(last, plugin)
}

// canTest returns why the plugin cannot be tested now.
func (s *site) canTest(p *v1alpha1.Provisioning, plugin string) error {
	row := pluginIn(p, plugin)
	switch {
	case row == nil && len(p.Status.Plugins) == 0:
		return fmt.Errorf("cluster %s has no plugins: list them in spec.KUDPlugins", p.Name)
	case row == nil:
		var names []string
		for _, r := range p.Status.Plugins {
			names = append(names, r.Name)
		}
		return fmt.Errorf("cluster %s has no plugin %s; it has %s", p.Name, plugin, strings.Join(names, ", "))
	case row.State == v1alpha1.PluginSkipped:
		return exitf(codeNotYet, "plugin %s is skipped in cluster %s: %s", plugin, p.Name, clean(row.Message))
	case p.Spec.Paused:
		return fmt.Errorf("no run starts while %s is paused. Resume it:\n  %s", p.Name, s.kubectl("bpa resume "+p.Name, ""))
	case running(p):
		return fmt.Errorf("run %s is active. Follow it:\n  %s", p.Status.Run.Name, s.kubectl("bpa watch "+p.Name, ""))
	case p.Status.InstalledDigest == "":
		return exitf(codeNotYet, "cluster %s is not installed yet", p.Name)
	}
	return nil
}

func pluginIn(p *v1alpha1.Provisioning, name string) *v1alpha1.PluginStatus {
	i := slices.IndexFunc(p.Status.Plugins, func(r v1alpha1.PluginStatus) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Status.Plugins[i]
}

// ranAgain reports whether another run has ended since before.
func ranAgain(before, now *v1alpha1.Provisioning) bool {
	run := now.Status.Run
	return run != nil && run.CompletionTime != nil && (before.Status.Run == nil || before.Status.Run.Name != run.Name)
}

// testResult shows the result of the plugin's test.
func (s *session) testResult(p *v1alpha1.Provisioning, plugin string) error {
	row := pluginIn(p, plugin)
	if row == nil {
		return fmt.Errorf("cluster %s has no plugin %s any more", p.Name, plugin)
	}
	test, output := "none", ""
	if row.Test != nil {
		test, output = row.Test.State, strings.TrimSpace(row.Test.Message)
	}
	if row.State == v1alpha1.PluginFailed || test == string(contract.TestFailed) {
		return fmt.Errorf("plugin %s %s in cluster %s is %s; test: %s\n%s", plugin, row.Version, p.Name, row.State, test, clean(strings.TrimSpace(row.Message+"\n"+output)))
	}
	_, err := fmt.Fprintf(s.Out, "plugin %s %s in cluster %s is %s; test: %s\n", plugin, row.Version, p.Name, row.State, test)
	if err == nil && output != "" {
		_, err = fmt.Fprintln(s.Out, clean(output))
	}
	return err
}
