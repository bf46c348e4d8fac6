package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/bundle"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

func newBundleInspect(s *session) *cobra.Command {
	var output string
	var verify bool
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "List the content of a bundle",
		Example: `  kubectl bpa bundle inspect k8s.tar --verify
  kubectl bpa bundle inspect k8s.tar -o json >list.json`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "" && output != "json" && output != "yaml" {
				return usageError(fmt.Errorf("--output is %q: the formats are json, yaml", output))
			}
			return interrupted(cmd.Context(), s.inspectBundle(cmd.Context(), args[0], output, verify))
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json, yaml; json prints a list that \"bundle create --list\" accepts")
	complete(cmd, "output", func(*cobra.Command, []string) []string { return []string{"json", "yaml"} })
	cmd.Flags().BoolVar(&verify, "verify", false, "read the whole content and compare it with its digests")
	return cmd
}

func (s *session) inspectBundle(ctx context.Context, path, format string, verify bool) error {
	b, err := bundle.Open(path)
	if err != nil {
		return err
	}
	defer b.Close()
	if verify {
		if err := b.Verify(ctx, b.List()); err != nil {
			return err
		}
	}
	switch format { // without a kind: it is the input of "bundle create", which no field may surprise
	case "json":
		text, err := json.MarshalIndent(b.List(), "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Out, "%s\n", text)
		return err
	case "yaml":
		text, err := yaml.Marshal(b.List())
		if err != nil {
			return err
		}
		_, err = s.Out.Write(text)
		return err
	}
	table := tabwriter.NewWriter(s.Out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "KIND\tNAME\tDIGEST\tSIZE")
	for _, i := range b.List().Images {
		tree, err := transfer.Walk(ctx, b, i, nil)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(table, "image\t%s\t%.19s\t%s\n", i.Ref, i.Digest, transfer.Bytes(tree.Bytes()))
	}
	for _, f := range b.List().Files {
		_, _ = fmt.Fprintf(table, "file\t%s\tsha256:%.12s\t%s\n", f.Path, f.SHA256, transfer.Bytes(f.Size))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	checked := ""
	if verify {
		checked = ", and all content matches its digests"
	}
	_, err = fmt.Fprintf(s.Out, "%d artifacts, %s%s\n", b.List().Size(), transfer.Bytes(b.Size()), checked)
	return err
}

func newBundleImport(s *session) *cobra.Command {
	var depot depotFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import the content of a bundle into a depot",
		Long: `Import the content of a bundle into a depot. For a bundle in parts, name FILE,
FILE.000 or FILE.parts.json. The command does not send content that the depot has,
so an interrupted import resumes where it stopped. If the bundle is damaged, the
command sends nothing.`,
		Example: `  kubectl create token bpa-depot-filler --audience=depot.bpa.akraino.org >token
  kubectl bpa bundle import k8s.tar --depot https://10.60.0.1:5443 --depot-token-file token --depot-ca ca.crt`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return interrupted(cmd.Context(), s.importBundle(cmd.Context(), args[0], depot))
		},
	}
	depot.add(cmd, "depot", "URL of the depot")
	return cmd
}

func (s *session) importBundle(ctx context.Context, path string, f depotFlags) error {
	b, err := bundle.Open(path)
	if err != nil {
		return err
	}
	defer b.Close()
	depot, err := f.connect(ctx, "depot")
	if err != nil {
		return err
	}
	done, err := bundle.Import(ctx, b, depot, s.ErrOut)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "imported %d images and %d files (%s sent) into %s\n", done.Images, done.Files, transfer.Bytes(done.Sent), depot.URL())
	return err
}

func newBundleDiff(s *session) *cobra.Command {
	var depot depotFlags
	cmd := &cobra.Command{
		Use:     "diff FILE",
		Short:   "List the artifacts of a bundle that a depot lacks",
		Long:    `List the artifacts of a bundle that a depot lacks or has with other content. The exit code is 3 if there are any.`,
		Example: `  kubectl bpa bundle diff k8s.tar --depot http://10.60.0.1:5000`,
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return interrupted(cmd.Context(), s.diffBundle(cmd.Context(), args[0], depot))
		},
	}
	depot.add(cmd, "depot", "URL of the depot")
	return cmd
}

func (s *session) diffBundle(ctx context.Context, path string, f depotFlags) error {
	b, err := bundle.Open(path)
	if err != nil {
		return err
	}
	defer b.Close()
	depot, err := f.connect(ctx, "depot")
	if err != nil {
		return err
	}
	missing, err := bundle.Diff(ctx, b, depot)
	if err != nil {
		return err
	}
	for _, line := range differences(missing) {
		_, _ = fmt.Fprintln(s.Out, line)
	}
	if !missing.Nothing() {
		return exitf(codeNotYet, "%s lacks %d of %d artifacts of the bundle; import them with:\n  kubectl bpa bundle import %s --depot %s",
			depot.URL(), missing.Size(), missing.Of, path, depot.URL())
	}
	_, err = fmt.Fprintf(s.Out, "%s has all %d artifacts of the bundle\n", depot.URL(), missing.Of)
	return err
}

// differences returns a line for each artifact: "+ image REF" if it is missing, "~ file PATH: why"
// if the depot has other content.
func differences(m artifacts.Missing) (lines []string) {
	line := func(kind, name string) {
		if why := m.Why[name]; why != "" {
			lines = append(lines, fmt.Sprintf("~ %s %s: %s", kind, name, why))
			return
		}
		lines = append(lines, fmt.Sprintf("+ %s %s", kind, name))
	}
	for _, i := range m.Images {
		line("image", i.Ref)
	}
	for _, f := range m.Files {
		line("file", f.Path)
	}
	return lines
}
