package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/homedir"
)

func newEnv(s *session) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "env NAME",
		Short: "Print the line that makes a provisioned cluster the one of your shell",
		Long: `Print the line that makes a provisioned cluster the one of your shell. The command writes
the kubeconfig of the cluster into a file that only you can read, and prints the line that
exports KUBECONFIG, and as a comment the one that takes it back.

The file is ~/.kube/bpa/NAME-UID.kubeconfig, with the UID of the Provisioning: clusters of
other sites that have the same name have other files. It contains a private key. After
kubectl bpa kubeconfig NAME --rotate, run this command again.`,
		Example: `  eval "$(kubectl bpa env edge-1)" && kubectl get nodes
  kubectl bpa env edge-1 -n site-a --to /run/user/1000/edge-1.kubeconfig`,
		Args: oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.env(cmd.Context(), args[0], to)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "file for the kubeconfig, with mode 0600 (default ~/.kube/bpa/NAME-UID.kubeconfig)")
	completeArgs(cmd, s.clusterNames())
	return cmd
}

func (s *session) env(ctx context.Context, name, to string) error {
	site, p, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	data, err := site.kubeconfig(ctx, name)
	if err != nil {
		return err
	}
	if to == "" {
		to = filepath.Join(homedir.HomeDir(), ".kube", "bpa", fmt.Sprintf("%s-%s.kubeconfig", p.Name, p.UID))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return fmt.Errorf("make a folder for the kubeconfig: %w; name another file with --to", err)
		}
	}
	if to, err = filepath.Abs(to); err != nil { // the shell can go to another folder
		return err
	}
	if err := writePrivate(to, data); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	back := "unset KUBECONFIG"
	if before := os.Getenv("KUBECONFIG"); before != "" && before != to {
		back = "export KUBECONFIG=" + quoted(before)
	}
	_, err = fmt.Fprintf(s.Out, "export KUBECONFIG=%s\n# Use the cluster in this shell: eval \"$(%s)\"\n# Back to the site: %s\n", quoted(to), site.kubectl("bpa env "+p.Name, ""), back)
	return err
}

// quoted returns a text as one word of a POSIX shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
