package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/adopt"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/secretvars"
)

type adoptOptions struct {
	file    string
	hosts   []string
	silent  bool
	yes     bool
	login   login
	limit   time.Duration
	waiting waitFlags
	dryRun  serverDryRun
}

func newAdopt(s *session) *cobra.Command {
	var o adoptOptions
	cmd := &cobra.Command{
		Use:   "adopt NAME [-f FILE]",
		Short: "Make the objects of a cluster anew that BPA has installed, from its servers",
		Long: `Make the objects of a cluster anew that BPA has installed, from its servers.

It is for a site that has lost the Provisioning of a cluster, its record or the claims
of its hosts, and that has no backup of the bootstrap machine that is new enough. The
BareMetalHosts must be there, and the Secret with the SSH key of the site.

The command asks the servers of all hosts over SSH, and then the cluster and its etcd
on a control plane. It shows each host:

  agrees     the server is a node of the cluster: its host is claimed
  other      it has another cluster
  free       it has none
  silent     no address of the host answers
  disagrees  something contradicts that it is a node, or nothing proves it

and what it would write: the Provisioning, the record, the SSH host keys and the claims.
Servers are not changed, and hosts that do not agree stay as they are. If a node of the
cluster has no host that agrees, or if BPA would remove a node after that, nothing is
written.

Give the manifest of the Provisioning with -f, if you have it. BPA then takes it that
the nodes have the kubespray variables of the file. Otherwise the command derives a
Provisioning: what no server shows, such as variables, plugins and node sets, is not in it.

The Provisioning is paused while the command writes. After an interruption, run the
command again. BPA then collects a new kubeconfig. If it would drain nodes, because they
have other versions than the Provisioning, the Provisioning stays paused.`,
		Example: "  kubectl bpa adopt edge-1 -f edge-1.yaml --dry-run=server\n  kubectl bpa adopt edge-1 -f edge-1.yaml --wait --timeout=30m\n  kubectl bpa adopt edge-1 --ssh-user ops",
		Args:    oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			changed := func(name string) bool { return cmd.Flags().Changed(name) }
			return s.adopt(cmd.Context(), args[0], &o, changed)
		},
	}
	cmd.Flags().StringVarP(&o.file, "filename", "f", "", "file with the Provisioning; -: stdin")
	cmd.Flags().StringSliceVar(&o.hosts, "hosts", nil, "ask only the servers of these hosts (default all of the namespace)")
	cmd.Flags().BoolVar(&o.silent, "silent", false, "also claim hosts that are silent, if a node without a host has an address of theirs")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().StringVar(&o.login.secret, "ssh-secret", v1alpha1.DefaultSSHSecret, "Secret with the SSH key of the site (default that of the Provisioning)")
	cmd.Flags().StringVar(&o.login.user, "ssh-user", v1alpha1.DefaultSSHUser, "user for SSH (default that of the Provisioning)")
	cmd.Flags().IntVar(&o.login.port, "ssh-port", v1alpha1.DefaultSSHPort, "port of the SSH servers (default that of the Provisioning)")
	cmd.Flags().DurationVar(&o.limit, "ask-timeout", time.Minute, "time in which one server must answer")
	o.waiting.add(cmd, "the cluster is ready or has failed permanently", "30m")
	o.dryRun.add(cmd)
	cmd.Flags().Lookup("dry-run").Usage = `"client": only show what would be written; "server": the API server checks it and stores nothing; or "none"`
	complete(cmd, "dry-run", func(*cobra.Command, []string) []string { return []string{dryRunNone, dryRunClient, dryRunServer} })
	complete(cmd, "hosts", s.hostNames())
	completeArgs(cmd)
	return cmd
}

// check returns the first flag that cannot be used.
func (o *adoptOptions) check() error {
	dry := o.dryRun
	if dry.value == dryRunClient {
		dry.value = dryRunServer // with the same rules
	}
	switch {
	case o.login.port < 1 || o.login.port > 65535:
		return usageError(fmt.Errorf("--ssh-port is %d: give a port from 1 to 65535", o.login.port))
	case o.limit <= 0:
		return usageError(fmt.Errorf("--ask-timeout is %s: give a time for one server, such as 1m", o.limit))
	}
	return cmp.Or(o.waiting.check(), dry.check(o.waiting.wait))
}

// adoption is what the command has found out.
type adoption struct {
	site    *site
	user    contract.User
	stored  *v1alpha1.Provisioning // nil: there is none
	plan    adopt.Plan
	objects map[string]*metal3.BareMetalHost // by name, as they were when their servers were asked
	varsKey []byte                           // nil: no variables are in Secrets
	now     func() time.Time
}

func (s *session) adopt(ctx context.Context, name string, o *adoptOptions, changed func(flag string) bool) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	a, err := s.adoption(ctx, site, name, o, changed)
	if err != nil {
		return err
	}
	page, err := a.page(o.file)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(s.Out, page); err != nil {
		return err
	}
	if len(a.plan.Problems) > 0 {
		return fmt.Errorf("nothing was changed, because the cluster cannot be adopted yet:\n  %s", strings.Join(cleaned(a.plan.Problems), "\n  "))
	}
	if o.dryRun.value == dryRunClient {
		_, err := fmt.Fprintln(s.Out, "The cluster can be adopted (client dry run: nothing was changed)")
		return err
	}
	if err := a.write(ctx, a.rehearsal()); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if o.dryRun.on() {
		return s.unchanged("The cluster can be adopted")
	}
	if !o.yes {
		if err := s.agree(ctx, "an adoption", "This gives the cluster "+a.user.Cluster()+" to BPA, as shown above."); err != nil {
			return err
		}
	}
	if err := a.write(ctx, site); err != nil {
		return fmt.Errorf("%w\nThe Provisioning stays paused until the adoption is complete: run the command again", err)
	}
	return s.adopted(ctx, a, o)
}

// adopted ends the command.
func (s *session) adopted(ctx context.Context, a *adoption, o *adoptOptions) error {
	name := a.user.Name
	_, _ = fmt.Fprintf(s.Out, "%s was adopted.\n", name)
	if a.stays() {
		_, err := fmt.Fprintf(s.Out, "It is paused: nothing is started. See what BPA would do, then resume it:\n  %s\n  %s\n", a.site.kubectl("bpa plan "+name, ""), a.site.kubectl("bpa resume "+name, ""))
		return err
	}
	if !o.waiting.wait {
		_, err := fmt.Fprintf(s.Out, "BPA collects its kubeconfig. Follow it:\n  %s\n", a.site.kubectl("bpa watch "+name, ""))
		return err
	}
	ctx, cancel := withTimeout(ctx, o.waiting.timeout)
	defer cancel()
	p, err := a.site.get(ctx, name)
	if err != nil {
		return err
	}
	return s.watchUntil(ctx, a.site, p, o.waiting.timeout, decided)
}

// adoption asks the servers and the cluster, and makes what is to be written.
func (s *session) adoption(ctx context.Context, site *site, name string, o *adoptOptions, changed func(flag string) bool) (*adoption, error) {
	a := &adoption{site: site, now: s.now, objects: map[string]*metal3.BareMetalHost{}}
	var err error
	if a.stored, err = site.getOrNone(ctx, name); err != nil {
		return nil, err
	}
	wanted := a.stored.DeepCopy()
	if o.file != "" {
		if wanted, err = s.read(ctx, site, o.file); err != nil {
			return nil, err
		}
		if wanted.Name != name {
			return nil, usageError(fmt.Errorf("%s has the Provisioning %s: give this name, or another file", o.file, wanted.Name))
		}
	}
	if wanted != nil {
		wanted.SetDefaults(site.updating(ctx, wanted))
		o.login.of(wanted.Spec.SSH, changed)
	}
	if err := site.running(ctx, a.stored); err != nil {
		return nil, err
	}
	servers, err := s.askAll(ctx, a, name, wanted, o)
	if err != nil {
		return nil, err
	}
	if a.user, err = adopt.Identity(site.namespace, name, servers); err != nil {
		return nil, err
	}
	if err := adoptable(a.stored, a.user, site); err != nil {
		return nil, err
	}
	cluster, err := s.askCluster(ctx, a.user, servers, o.limit)
	if err != nil {
		return nil, err
	}
	a.plan, err = adopt.Make(adopt.Input{
		User: a.user, Cluster: cluster, Servers: servers, Provisioning: wanted, Silent: o.silent,
		SSH:     v1alpha1.SSHSpec{SecretName: o.login.secret, User: o.login.user, Port: int32(o.login.port)},
		Request: func(p *v1alpha1.Provisioning) (contract.Request, error) { return a.request(ctx, p) },
	})
	return a, err
}

// of uses the login of a Provisioning, except for what the user has given.
func (l *login) of(spec v1alpha1.SSHSpec, changed func(flag string) bool) {
	if !changed("ssh-secret") {
		l.secret = spec.SecretName
	}
	if !changed("ssh-user") {
		l.user = spec.User
	}
	if !changed("ssh-port") {
		l.port = int(spec.Port)
	}
}

// request makes the request of a Provisioning as the controller does, for the cluster with this identity.
func (a *adoption) request(ctx context.Context, p *v1alpha1.Provisioning) (contract.Request, error) {
	p = p.DeepCopy()
	p.SetDefaults(ctx)
	p.Status.ClusterUID = a.user.UID
	parsed, err := a.site.readSettings(ctx, "which name the depot of the nodes")
	if err != nil {
		return contract.Request{}, err
	}
	r, err := from.Provisioning(p, parsed.Depot)
	if err != nil || len(p.Spec.Kubespray.VarsFrom) == 0 {
		return r, err
	}
	key, err := a.site.varsSecret(ctx, p, contract.VarsKeyName(p.Name))
	if err != nil {
		return r, a.site.explain(err)
	}
	if key == nil || len(key.Data[secretvars.KeyData]) != secretvars.KeyBytes {
		fresh, err := secretvars.NewKey(rand.Reader)
		if err != nil {
			return r, err
		}
		key = resources.MakeVarsKey(p, fresh)
	}
	a.varsKey = key.Data[secretvars.KeyData]
	var problem string
	if r.SecretVars, problem, err = a.site.digests(ctx, p, key); err == nil && problem != "" {
		err = errors.New(problem)
	}
	return r, err
}

// adoptable refuses a Provisioning that has, or has begun to install, another cluster.
func adoptable(p *v1alpha1.Provisioning, user contract.User, site *site) error {
	switch {
	case p == nil || p.ClusterUID() == user.UID:
		return nil
	case p.Status.ClusterUID == "" && p.Status.InstalledDigest == "" && p.Status.Run == nil:
		return nil // it has installed nothing
	}
	return fmt.Errorf("the Provisioning %s exists and has another cluster (%s) than the servers (%s), or has begun to install one. If this cluster is not needed, delete it, then run this command again:\n  %s",
		p.Name, p.ClusterUID(), user.UID, site.kubectl("delete provisioning "+p.Name, ""))
}

// running refuses a Provisioning that is being deleted or that has an active run.
func (s *site) running(ctx context.Context, p *v1alpha1.Provisioning) error {
	if p == nil {
		return nil
	}
	if p.DeletionTimestamp != nil {
		return beingDeleted(p, "its cluster cannot be adopted")
	}
	active, err := s.activeRun(ctx, p)
	if err != nil || active == nil {
		return err
	}
	return fmt.Errorf("run %s is active. Wait for its end, or stop it:\n  %s", active.Name, s.kubectl("bpa cancel "+p.Name, ""))
}

// getOrNone returns a Provisioning, or nil if it does not exist.
func (s *site) getOrNone(ctx context.Context, name string) (*v1alpha1.Provisioning, error) {
	p := &v1alpha1.Provisioning{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, p)
	if apierrors.IsNotFound(err) && !isKindMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return p, nil
}
