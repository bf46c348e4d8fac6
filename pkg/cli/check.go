package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/check"
	"github.com/akraino-icn/bpa/pkg/check/visit"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/settings"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/survey"
)

// checkFlags are the flags of all commands that check.
type checkFlags struct {
	skip   []string
	limit  time.Duration
	output output
}

func (f *checkFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.skip, "skip", nil, "IDs of checks that are switched off, such as swap,etcd-fsync")
	cmd.Flags().DurationVar(&f.limit, "ask-timeout", visit.Limit, "time in which one host must answer")
	complete(cmd, "skip", func(*cobra.Command, []string) []string { return check.IDs() })
	f.output.add(cmd)
}

func (f *checkFlags) check() error {
	for _, id := range f.skip {
		if !slices.Contains(check.IDs(), id) {
			return usageError(fmt.Errorf("--skip is %q: the checks are %s", id, strings.Join(check.IDs(), ", ")))
		}
	}
	if f.limit <= 0 {
		return usageError(fmt.Errorf("--ask-timeout is %s: give a time for one host, such as 30s", f.limit))
	}
	return f.output.check()
}

// skips reports whether all of these checks are switched off.
func (f *checkFlags) skips(ids ...string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(f.skip, id) })
}

func newCheck(s *session) *cobra.Command {
	var f checkFlags
	var file string
	cmd := &cobra.Command{
		Use:   "check -f FILE",
		Short: "Find the causes why a cluster cannot be installed, before it is",
		Long: `Find the causes why a cluster cannot be installed, before it is: clocks, disks, name
servers, packet sizes, ports, machines with equal identities and others.

The command asks the hosts that the Provisioning in the file would get now, over SSH and
all in parallel, and changes nothing on them. Nothing is claimed. Each finding has the ID
of its check, a severity, what was seen, and what to do. An error means that the
installation would fail; the exit code is then 1. If no host fits, the exit code is 3.

"check hosts" checks hosts without a Provisioning, and "check site" the bootstrap machine.
docs/checks.md lists the checks.`,
		Example: "  kubectl bpa check -f edge-1.yaml\n  kubectl bpa check -f edge-1.yaml --skip swap -o json\n  kubectl bpa check hosts -l rack=r1\n  kubectl bpa check site",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError(fmt.Errorf("check accepts no argument, got %s: name a file with -f, or see %s --help", args[0], cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return usageError(errors.New("--filename is missing: name a file with a Provisioning, or use check hosts or check site"))
			}
			if err := f.check(); err != nil {
				return err
			}
			return s.checkFile(cmd.Context(), file, &f)
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "file with a Provisioning; -: stdin")
	f.add(cmd)
	completeArgs(cmd)
	cmd.AddCommand(newCheckHosts(s), newCheckSite(s))
	return cmd
}

// checked are hosts that are to be checked, with the ways to reach them.
type checked struct {
	in     check.Input
	ways   []visit.Host
	report checkReport
}

// add adds a host, with the address at which other hosts reach it.
func (c *checked) add(n check.Node, server survey.Server) {
	way := visit.Host{Pinned: server.Pinned}
	if n.Address != "" {
		way.Addresses = []string{n.Address}
	}
	for _, address := range server.Addresses {
		if address != n.Address {
			way.Addresses = append(way.Addresses, address)
		}
	}
	if n.Address == "" && len(way.Addresses) > 0 {
		n.Address = way.Addresses[0]
	}
	for _, l := range server.Logins {
		way.Logins = append(way.Logins, visit.Login{User: l.User, Port: l.Port, Key: l.Key})
	}
	c.in.Nodes, c.ways = append(c.in.Nodes, n), append(c.ways, way)
}

// runChecks asks the hosts, shows the findings, and fails if one of them is an error.
func (s *session) runChecks(ctx context.Context, c *checked, f *checkFlags) error {
	c.in.Skip = f.skip
	answers := visit.All(ctx, s.dial, c.in, c.ways, f.limit, func(answered, i int) {
		_, _ = fmt.Fprintf(s.ErrOut, "asked %d of %d: %s\n", answered, len(c.in.Nodes), c.in.Nodes[i].Name)
	})
	if ctx.Err() != nil {
		return exitf(codeInterrupted, "interrupted: nothing was changed")
	}
	return s.showChecks(c, check.Judge(c.in, answers), f)
}

// showChecks shows findings, and fails if one of them is an error.
func (s *session) showChecks(c *checked, findings []check.Finding, f *checkFlags) error {
	c.report.fill(c.in, findings)
	var err error
	if f.output.table() {
		_, err = fmt.Fprint(s.Out, c.report.page())
	} else {
		err = f.output.printReport(s.Out, reportCheck, c.report)
	}
	if err == nil && c.report.Errors > 0 {
		err = fmt.Errorf("%s of the kind error: a cluster cannot be installed like this. Correct them, or switch a check off with --skip ID", counted(c.report.Errors, "finding"))
	}
	return err
}

// depotToCheck returns the site's depot, or none if its checks are switched off.
func (s *site) depotToCheck(ctx context.Context, f *checkFlags) (settings.Depot, error) {
	if f.skips("depot", "depot-throughput") {
		return settings.Depot{}, nil
	}
	parsed, err := s.readSettings(ctx, "which name the depot")
	if err != nil {
		return settings.Depot{}, fmt.Errorf("%w\nTo check hosts without the depot: --skip depot,depot-throughput", err)
	}
	return parsed.Depot, nil
}

// checkFile checks the hosts that the Provisioning in a file would get.
func (s *session) checkFile(ctx context.Context, file string, f *checkFlags) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	p, err := s.read(ctx, site, file)
	if err != nil {
		return err
	}
	for _, id := range p.Spec.Checks.Disable { // the run does not make them either
		if !slices.Contains(f.skip, id) {
			f.skip = append(f.skip, id)
		}
	}
	stored, err := site.getOrNone(ctx, p.Name)
	if err != nil {
		return err
	}
	if stored != nil {
		p.Status, p.UID = stored.Status, stored.UID
	}
	depot, err := site.depotToCheck(ctx, f)
	if err != nil {
		return err
	}
	request, err := from.Provisioning(p, depot)
	if err != nil {
		return err
	}
	if f.skips("depot", "depot-throughput") {
		request.DepotURL = ""
	}
	where := site.in(p.HostNamespace())
	view, err := where.hosts(ctx)
	if err != nil {
		return err
	}
	c, err := site.placed(ctx, where, p, request, view)
	if err != nil {
		return err
	}
	return s.runChecks(ctx, c, f)
}

// placed returns the hosts that a Provisioning would get, as its nodes.
func (s *site) placed(ctx context.Context, where *site, p *v1alpha1.Provisioning, request contract.Request, view *hostView) (*checked, error) {
	request.Installed = installed(p)
	hosts.MarkInstalled(request, view.facts)
	assigned, err := assign.Assign(request, view.facts)
	var noFit *assign.NoFit
	if errors.As(err, &noFit) {
		return nil, exitf(codeNotYet, "no assignment exists for %s, so there are no hosts to check: %s\nTo check the hosts of the namespace: %s", p.Name, clean(noFit.Error()), s.kubectl("bpa check hosts", ""))
	}
	if err != nil {
		return nil, err
	}
	n := namespaceFacts{clusters: map[string]*clusterFacts{}, keys: map[string]ssh.Key{}}
	if err := s.readCluster(ctx, p, &n); err != nil {
		return nil, err
	}
	if len(n.logins) == 0 {
		return nil, s.noLogin(p.Spec.SSH.SecretName)
	}
	c := &checked{in: check.InputOf(request, nil)}
	for _, a := range assigned {
		i := slices.IndexFunc(view.facts, func(h hosts.Host) bool { return h.Name == a.Host })
		h := &view.facts[i]
		if h.Bare {
			c.report.NotAsked = append(c.report.NotAsked, notAsked{a.Node, "host " + h.Name + " has no operating system yet"})
			continue
		}
		if err := where.readNetworkData(ctx, view.objects[i], h, resetOptions{}); err != nil {
			return nil, err
		}
		node := check.Node{Name: a.Node, Roles: a.Roles, MACs: h.MACs, Member: h.Installed}
		if address := h.Address(a.MAC, request.Access); address.IsValid() {
			node.Address = address.String()
		}
		if c.report.Hosts = append(c.report.Hosts, checkedHost{Node: a.Node, Host: h.Name}); node.Name != h.Name {
			node.Name = a.Node + " (" + h.Name + ")"
		}
		c.add(node, n.asked(h, view.objects[i]).server)
	}
	return c, nil
}

// noLogin says how to make the Secret with the SSH key.
func (s *site) noLogin(secret string) error {
	return fmt.Errorf("there is no Secret %s in namespace %s: make it from the SSH key of the site:\n  %s", secret, s.namespace,
		s.kubectl("create secret generic "+secret, "--type=kubernetes.io/ssh-auth --from-file=ssh-privatekey=FILE"))
}
