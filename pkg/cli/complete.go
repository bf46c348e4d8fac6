package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/plugin"
)

// completeLimit bounds the time in which a shell waits for names: a completion of a cluster that does not answer
// gives nothing.
const completeLimit = 3 * time.Second

// completes is the annotation of commands whose arguments have candidates.
const completes = "completes"

// candidates returns the values that an argument or a flag can have.
type candidates func(cmd *cobra.Command, args []string) []string

// complete gives a flag its candidates. Files are not among them.
func complete(cmd *cobra.Command, flag string, of candidates) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		return beginning(of(cmd, args), begun), cobra.ShellCompDirectiveNoFileComp
	}) // fails only for a flag that cmd does not have, which TestCompletion finds
}

// completeArgs gives the arguments of a command their candidates, in their order. Further arguments have none.
func completeArgs(cmd *cobra.Command, of ...candidates) {
	if len(of) > 0 {
		cmd.Annotations = map[string]string{completes: "yes"}
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(of) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(of[len(args)](cmd, args), begun), cobra.ShellCompDirectiveNoFileComp
	}
}

func beginning(all []string, begun string) []string {
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, begun) })
}

// names returns candidates from the names of the objects of the namespace that keep returns.
func (s *session) names(list func() client.ObjectList, keep func(o client.Object, args []string) bool) candidates {
	return func(cmd *cobra.Command, args []string) (names []string) {
		site, err := s.connect()
		if err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeLimit)
		defer cancel()
		all := list()
		if site.client.List(ctx, all, client.InNamespace(site.namespace)) != nil {
			return nil
		}
		items, _ := meta.ExtractList(all) // cannot fail: all is a list
		for _, item := range items {
			if o, ok := item.(client.Object); ok && (keep == nil || keep(o, args)) {
				names = append(names, o.GetName())
			}
		}
		return names
	}
}

// clusterNames are the names of Provisionings.
func (s *session) clusterNames() candidates {
	return s.names(func() client.ObjectList { return &v1alpha1.ProvisioningList{} }, nil)
}

// hostNames are the names of hosts that are not among the arguments.
func (s *session) hostNames() candidates {
	return s.names(func() client.ObjectList { return &metal3.BareMetalHostList{} }, func(o client.Object, args []string) bool {
		return !slices.Contains(args, o.GetName())
	})
}

// backupNames are the names of the Backups of the Provisioning that the first argument names.
func (s *session) backupNames() candidates {
	return s.names(func() client.ObjectList { return &v1alpha1.BackupList{} }, func(o client.Object, args []string) bool {
		b, ok := o.(*v1alpha1.Backup)
		return ok && (len(args) == 0 || b.Spec.Provisioning == args[0]) && b.Status.IsSucceeded()
	})
}

// pluginNames are the names of the plugins that BPA ships.
func pluginNames(*cobra.Command, []string) []string { return plugin.Shipped().Names() }

// completeKubectl gives kubectl's own flags their candidates.
func (s *session) completeKubectl(root *cobra.Command, flags *genericclioptions.ConfigFlags) {
	complete(root, "namespace", s.names(func() client.ObjectList { return &corev1.NamespaceList{} }, nil))
	for name, of := range map[string]func(api.Config) []string{
		"context": func(c api.Config) []string { return slices.Collect(maps.Keys(c.Contexts)) },
		"cluster": func(c api.Config) []string { return slices.Collect(maps.Keys(c.Clusters)) },
		"user":    func(c api.Config) []string { return slices.Collect(maps.Keys(c.AuthInfos)) },
	} {
		complete(root, name, func(*cobra.Command, []string) []string {
			config, err := flags.ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil
			}
			return slices.Sorted(slices.Values(of(config)))
		})
	}
}
