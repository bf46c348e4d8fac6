package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/depot/client"
)

func newBundle(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Bring images, files and OS packages to a site without an Internet connection",
		Long: `Bring images, files and OS packages to a site without an Internet connection:
pack them into one file on a machine with an Internet connection, copy the file
to the site, and import it into the site's depot.

A bundle is an OCI image layout in a tar, so skopeo, crane and oras can read it.
Without this program, use curl to import a file, and skopeo to import an image:
  curl -T FILE -H "Authorization: Bearer $TOKEN" https://DEPOT/files/PATH
  skopeo copy oci-archive:BUNDLE:REF docker://DEPOT/REPOSITORY:TAG`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBundleCreate(s), newBundleInspect(s), newBundleImport(s), newBundleExport(s), newBundleDiff(s))
	return cmd
}

// depotFlags holds the flags for the connection to a depot.
type depotFlags struct {
	url, tokenFile, caFile string
	ca                     string // PEM, if there is no caFile
}

func (f *depotFlags) add(cmd *cobra.Command, name, usage string) {
	cmd.Flags().StringVar(&f.url, name, "", usage+", such as https://10.60.0.1:5443")
	cmd.Flags().StringVar(&f.tokenFile, "depot-token-file", "", "file with the Kubernetes token for the depot (kubectl create token ACCOUNT --audience=depot.bpa.akraino.org)")
	cmd.Flags().StringVar(&f.caFile, "depot-ca", "", "file with the depot's CA (curl -k https://DEPOT/ca.crt), if the system does not trust it")
}

func (f *depotFlags) connect(ctx context.Context, flag string) (*client.Depot, error) {
	if f.url == "" {
		return nil, usageError(fmt.Errorf("--%s is missing: the URL of the depot", flag))
	}
	o := client.Options{TokenFile: f.tokenFile, CA: []byte(f.ca)}
	if f.caFile != "" {
		var err error
		if o.CA, err = os.ReadFile(f.caFile); err != nil {
			return nil, fmt.Errorf("--depot-ca: %w", err)
		}
	}
	return client.Connect(ctx, f.url, o)
}

// oneFile accepts exactly one argument, the name of a bundle.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError(fmt.Errorf("expected one FILE, got %d; see %s --help", len(args), cmd.CommandPath()))
	}
	return nil
}

// interrupted adds the exit code for an interruption to an error if the user has interrupted the
// command.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return exitf(codeInterrupted, "interrupted: %w", err)
	}
	return err
}
