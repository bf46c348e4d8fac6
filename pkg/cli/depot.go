package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

func newDepot(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "depot",
		Short: "Maintain the site's depot",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newImagesInUse(s), newDepotUsage(s), newDepotGC(s))
	return cmd
}

type imagesInUseOptions struct {
	to          string // file
	kubeconfigs []string
	skip        []string
}

func newImagesInUse(s *session) *cobra.Command {
	var o imagesInUseOptions
	cmd := &cobra.Command{
		Use:   "images-in-use",
		Short: "List the images that clusters use, by digest, for \"depot gc --keep\"",
		Long: `List the images that clusters use, by digest, one per line, for "depot gc --keep".

The clusters are the bootstrap cluster, the clusters of all its Provisionings, and
the clusters of --cluster-kubeconfig. The command reads all objects of all kinds
except Secrets, Nodes, Events and Leases. It treats every digest in them as used.
This includes workloads with zero replicas, CronJobs, init containers and Tekton
tasks. It does not list images that are named only by tag: gc keeps images with a
tag.

If a cluster or a kind cannot be read, there is no list. With --to the command
writes the file only when the list is complete.`,
		Example: `  kubectl bpa depot images-in-use --to keep.txt && kubectl bpa depot gc --keep keep.txt --dry-run --depot https://10.60.0.1:5443 --depot-token-file token
  kubectl bpa depot images-in-use --to keep.txt --cluster-kubeconfig other.kubeconfig --skip site-a/edge-3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return interrupted(cmd.Context(), s.imagesInUse(cmd.Context(), o))
		},
	}
	cmd.Flags().StringVar(&o.to, "to", "", "file to write (default, and with -: stdout)")
	wasOutput(cmd, &o.to)
	cmd.Flags().StringArrayVar(&o.kubeconfigs, "cluster-kubeconfig", nil, "kubeconfig of another cluster that uses the depot (repeatable)")
	cmd.Flags().StringArrayVar(&o.skip, "skip", nil, "NAMESPACE/NAME of a Provisioning whose cluster is not read: gc may free its images (repeatable)")
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
			return fmt.Errorf("%s: %w\nThere is no list of images: without the objects that could not be read it would be incomplete, and gc would free their images", c.name, err)
		}
		_, _ = fmt.Fprintf(s.ErrOut, "%s: %d objects, %d images not found in an earlier cluster\n", c.name, objects, len(used)-before)
	}
	if len(used) == 0 {
		return errors.New("no object has an image digest: check that these are the right clusters")
	}
	text := []byte(strings.Join(used.lines(), "\n") + "\n")
	if o.to == "" || o.to == "-" {
		_, err = s.Out.Write(text)
		return err
	}
	return writeWhole(o.to, text)
}

// writeWhole replaces the content of a file with text, or leaves it unchanged.
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

// cluster is a cluster whose objects are searched for images.
type cluster struct {
	name   string
	config *rest.Config
}

// clusters returns the clusters to search: the bootstrap cluster, the clusters of all Provisionings
// except those that --skip names, and the clusters of --cluster-kubeconfig.
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
			return nil, fmt.Errorf("the images of Provisioning %s are unknown: %w\nIf it has no cluster yet, or its cluster does not use the depot, leave it out with --skip %s", name, err, name)
		}
		k, err := access.ParseKubeconfig(data)
		if err != nil {
			return nil, fmt.Errorf("kubeconfig of Provisioning %s: %w", name, err)
		}
		config := k.RESTConfig(rest.DefaultKubernetesUserAgent())
		config.Wrap(limitAnswers) // the Secret decides which server answers
		all = append(all, cluster{"the cluster of Provisioning " + name, config})
	}
	if len(skip) > 0 {
		return nil, usageError(fmt.Errorf("--skip %s: there is no such Provisioning; write NAMESPACE/NAME", skip[0]))
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

// largestAnswer bounds one answer of the API server of a cluster. Lists are read in pages, and an object has at most
// about 3 MiB.
const largestAnswer = 512 << 20

// limitAnswers fails the reading of longer answers.
func limitAnswers(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(request)
		if err == nil {
			answer.Body = http.MaxBytesReader(nil, answer.Body, largestAnswer)
		}
		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
