package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

func newDepot(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "depot",
		Short: "Help to look after the site's depot",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newImagesInUse(s))
	return cmd
}

type imagesInUseOptions struct {
	output      string
	kubeconfigs []string
	skip        []string
}

func newImagesInUse(s *session) *cobra.Command {
	var o imagesInUseOptions
	cmd := &cobra.Command{
		Use:   "images-in-use",
		Short: "List the images that clusters use, by digest, for \"depot gc --keep\"",
		Long: `List the images that clusters use, by digest, one a line, for "depot gc --keep".

The clusters are the bootstrap cluster, those of all its Provisionings, and those
that --cluster-kubeconfig names. Every object of every kind is read, except Secrets, Nodes,
Events and Leases: an image counts as used wherever a digest stands, so workloads
that are scaled to zero, CronJobs, init containers and Tekton tasks count too.
Images that are named by tag alone are not listed: gc keeps what has a tag.

If a cluster or a kind cannot be read, there is no list. With --output the file is
written only once the list is complete.`,
		Example: `  kubectl bpa depot images-in-use --output keep.txt && depot gc --root /srv/depot --keep keep.txt --dry-run
  kubectl bpa depot images-in-use --output keep.txt --cluster-kubeconfig other.kubeconfig --skip site-a/edge-3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return interrupted(cmd.Context(), s.imagesInUse(cmd.Context(), o))
		},
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "file to write; - or nothing is stdout")
	cmd.Flags().StringArrayVar(&o.kubeconfigs, "cluster-kubeconfig", nil, "kubeconfig of another cluster that uses the depot (repeatable)")
	cmd.Flags().StringArrayVar(&o.skip, "skip", nil, "NAMESPACE/NAME of a Provisioning whose cluster is left out: gc may free its images (repeatable)")
	return cmd
}

func (s *session) imagesInUse(ctx context.Context, o imagesInUseOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	clusters, err := site.clusters(ctx, o)
	if err != nil {
		return err
	}
	used := images{}
	for _, c := range clusters {
		before, objects := len(used), 0
		if objects, err = used.addCluster(ctx, c.config); err != nil {
			return fmt.Errorf("%s: %w\nThere is no list: images of what was not read would be freed", c.name, err)
		}
		_, _ = fmt.Fprintf(s.ErrOut, "%s: %d objects name %d images that no cluster before named\n", c.name, objects, len(used)-before)
	}
	if len(used) == 0 {
		return errors.New("no object names an image by its digest: are these the right clusters?")
	}
	text := []byte(strings.Join(used.lines(), "\n") + "\n")
	if o.output == "" || o.output == "-" {
		_, err = s.Out.Write(text)
		return err
	}
	return writeWhole(o.output, text)
}

// writeWhole leaves either all of text in a file or what was there before.
func writeWhole(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".images-in-use-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = bytes.NewReader(text).WriteTo(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return os.Rename(f.Name(), name)
}

// cluster is one whose objects are read.
type cluster struct {
	name   string
	config *rest.Config
}

// clusters are all that use the site's depot, as far as the site knows, and
// those that a person has named.
func (s *site) clusters(ctx context.Context, o imagesInUseOptions) ([]cluster, error) {
	all := []cluster{{"the bootstrap cluster", s.config}}
	var provisionings v1alpha1.ProvisioningList
	if err := s.client.List(ctx, &provisionings); err != nil {
		return nil, s.explain(err)
	}
	skip := slices.Clone(o.skip)
	for _, p := range provisionings.Items {
		name := p.Namespace + "/" + p.Name
		if i := slices.Index(skip, name); i >= 0 {
			skip = slices.Delete(skip, i, i+1)
			continue
		}
		there := &site{client: s.client, namespace: p.Namespace, flags: s.flags}
		data, err := there.kubeconfig(ctx, p.Name)
		if err != nil {
			return nil, fmt.Errorf("the images of Provisioning %s are not known: %w\nIf it has no cluster yet, or none that uses the depot, leave it out with --skip %s", name, err, name)
		}
		config, err := clientcmd.RESTConfigFromKubeConfig(data)
		if err != nil {
			return nil, fmt.Errorf("kubeconfig of Provisioning %s: %w", name, err)
		}
		all = append(all, cluster{"the cluster of Provisioning " + name, config})
	}
	if len(skip) > 0 {
		return nil, usageError(fmt.Errorf("--skip %s: there is no such Provisioning; want NAMESPACE/NAME", skip[0]))
	}
	for _, file := range o.kubeconfigs {
		config, err := clientcmd.BuildConfigFromFlags("", file)
		if err != nil {
			return nil, fmt.Errorf("--cluster-kubeconfig %s: %w", file, err)
		}
		all = append(all, cluster{"the cluster of " + file, config})
	}
	return all, nil
}
