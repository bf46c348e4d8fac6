package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/hosts/hostfile"
)

type importOptions struct {
	file   string
	dryRun serverDryRun
	output output
}

func newHostsImport(s *session) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make BareMetalHosts of a file: ICN's nodes.json, YAML or CSV",
		Long: `Make BareMetalHosts of a file: ICN's nodes.json, YAML of the same shape, or CSV.

For each server the command makes a BareMetalHost with its labels, the Secret with the
login of its BMC, and the Secrets with its network data. FILE is - for stdin.

The whole file is checked first, also against all hosts that you may list. If anything is
wrong, nothing is imported, and each finding is shown with its line and what to do.

The same file again changes nothing. Of a server that is there, an import changes the login
and the labels that an import has set, and other fields only as long as nothing uses the
host. It shows what stays, with the reason, and the exit code is 3. After an error, the same
command goes on.

Passwords are printed nowhere: -o shows the BareMetalHosts, without their Secrets.`,
		Example: "  kubectl bpa hosts import nodes.json -n rack-7 --dry-run=server\n  kubectl bpa hosts import hosts.csv -n rack-7\n  kubectl bpa hosts import hosts.yaml --dry-run=client -o yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError(fmt.Errorf("expected one FILE, got %d: give a file with servers, or - for stdin", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = args[0]
			if err := o.output.check(); err != nil {
				return err
			}
			if o.dryRun.value != dryRunClient {
				if err := o.dryRun.check(false); err != nil {
					return err
				}
			}
			return s.importHosts(cmd.Context(), &o)
		},
	}
	o.dryRun.add(cmd)
	cmd.Flags().Lookup("dry-run").Usage = `"client": only show what would be made; "server": the API server checks it and stores nothing; or "none"`
	complete(cmd, "dry-run", func(*cobra.Command, []string) []string { return []string{dryRunNone, dryRunClient, dryRunServer} })
	o.output.add(cmd, formatName)
	return cmd
}

// importHosts reads, checks and compares the whole file before it writes anything. What must be true of a server before it is
// imported belongs between the comparison and the first write, such as that its BMC answers and accepts the login.
func (s *session) importHosts(ctx context.Context, o *importOptions) error {
	text, err := s.hostFile(o.file)
	if err != nil {
		return err
	}
	file, findings := hostfile.Parse(hostfile.FormatOf(o.file, text), text)
	if file.OSIgnored {
		_, _ = fmt.Fprintf(s.ErrOut, "%s: the fields os are not imported: spec.osImage of a Provisioning says which system its hosts get.\n", o.file)
	}
	if len(file.Rows) == 0 { // nothing to compare with the site
		return refused(o.file, findings)
	}
	site, err := s.connect()
	if err != nil {
		return err
	}
	i := &hostImport{session: s, site: site, file: o.file, rows: file.Rows}
	if err := i.look(ctx); err != nil {
		return err
	}
	findings = hostfile.Together(findings, hostfile.Validate(i.rows, site.namespace, i.there))
	if len(findings) > 0 {
		return refused(o.file, findings)
	}
	i.compare()
	if o.dryRun.value != dryRunClient {
		err = i.rehearse(ctx)
	}
	if err == nil && o.dryRun.value == dryRunNone {
		err = i.write(ctx)
	} else if err != nil {
		return fmt.Errorf("nothing was imported: %w", err)
	}
	if shown := i.show(o); err == nil {
		err = shown
	}
	return err
}

// refused returns all findings as one error.
func refused(file string, findings []hostfile.Finding) error {
	var text strings.Builder
	for _, f := range findings {
		text.WriteString("\n  " + clean(f.String()))
	}
	return fmt.Errorf("nothing was imported: %s has %s:%s", file, counted(len(findings), "error"), text.String())
}

// hostFile reads a file with hosts, and warns if others can read its passwords.
func (s *session) hostFile(name string) ([]byte, error) {
	in := s.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
		if is, err := file.Stat(); err == nil && is.Mode().Perm()&0o004 != 0 && runtime.GOOS != "windows" {
			_, _ = fmt.Fprintf(s.ErrOut, "Warning: every user of this machine can read %s, which has passwords. Run: chmod 600 %s\n", name, name)
		}
	}
	text, err := io.ReadAll(io.LimitReader(in, largestManifest+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > largestManifest {
		return nil, fmt.Errorf("%s has more than %d MiB: split it into several files", name, largestManifest>>20)
	}
	return text, nil
}

// hostImport is the import of one file.
type hostImport struct {
	*session
	site    *site
	file    string
	rows    []*hostfile.Row
	there   hostfile.Site
	changes []hostfile.Change
	results []string // of the changes: what has happened
}

// look reads the hosts of the site, and the Secrets that the rows would make.
func (i *hostImport) look(ctx context.Context) error {
	var list metal3.BareMetalHostList
	err := i.site.client.List(ctx, &list)
	if apierrors.IsForbidden(err) {
		_, _ = fmt.Fprintf(i.ErrOut, "You may not list the hosts of all namespaces, so duplicates are looked for only in %s.\n", i.site.namespace)
		err = i.site.client.List(ctx, &list, client.InNamespace(i.site.namespace))
	}
	if isKindMissing(err) {
		return errors.New("this cluster does not have the kind BareMetalHost: install Metal3, or select another cluster with --context or --kubeconfig")
	} else if err != nil {
		return i.site.explain(err)
	}
	i.there = hostfile.Site{Hosts: list.Items, Secrets: map[string]*corev1.Secret{}}
	for _, r := range i.rows {
		if err := i.lookForSecrets(ctx, r); err != nil {
			return i.site.explain(err)
		}
	}
	return nil
}

func (i *hostImport) lookForSecrets(ctx context.Context, r *hostfile.Row) error {
	if len(validation.IsDNS1123Subdomain(r.Name)) > 0 { // a finding of its own; no Secret has such a name
		return nil
	}
	for _, wanted := range hostfile.Render(r, i.site.namespace).Secrets() {
		stored := &corev1.Secret{}
		if err := i.site.client.Get(ctx, client.ObjectKeyFromObject(wanted), stored); err == nil {
			i.there.Secrets[stored.Name] = stored
		} else if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (i *hostImport) compare() {
	for _, r := range i.rows {
		i.changes = append(i.changes, hostfile.Compare(hostfile.Render(r, i.site.namespace), i.there))
	}
	i.results = make([]string, len(i.changes))
}
