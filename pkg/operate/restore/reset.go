package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/play"
	"github.com/akraino-icn/bpa/pkg/operate/prepare"
	"github.com/akraino-icn/bpa/pkg/operate/reset"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// meet connects to the machines of all new control planes, which must answer, and to those of the old
// ones that are not used again. It returns the latter that answer and have something on them. It changes
// nothing on a machine.
func (r *restoration) meet(ctx context.Context) (absent session.Contact, err error) {
	r.progress.Set(2, "Connect to the control planes")
	if r.c, err = session.Preflight(ctx, r.in.For(r.planes), r.key, r.ports); err != nil {
		return absent, err
	}
	for i, n := range r.planes {
		if report := r.c.Visits[i].Report; !report.Clean() && !r.c.IsOurs(r.in, n, report) && !session.HasHost(r.former, n) {
			return absent, &task.Error{Reason: contract.ReasonHostOccupied, Host: n.Name, Step: "connect by SSH",
				Err: fmt.Errorf("host %s has %s, and nothing says that it is of this cluster. %s", n.Host, session.FirstItems(slices.Concat(report.Kubernetes, report.Left)), r.unchanged())}
		}
	}
	old := slices.DeleteFunc(slices.Clone(r.former), func(n contract.Node) bool { return session.HasHost(r.planes, n) })
	if len(old) == 0 {
		return absent, nil
	}
	all := session.Contact{Pins: r.c.Pins, Record: r.c.Record, States: r.c.States, Nodes: old}
	fmt.Fprintf(r.ports.Log, "Looking for old control planes that are not used any more: %s\n", session.JoinNames(old))
	in := r.in.For(old)
	all.Visits = session.VisitAll(ctx, in, r.ports.Log, func(contract.Node) bool { return false }, func(n contract.Node) session.Visit {
		if n.Address == "" {
			return session.Visit{Err: session.ErrNoAddress}
		}
		v := session.ProbeNode(ctx, in, n, r.key, all.Pins.Of(n.HostUID), r.ports)
		if v.Err == nil {
			v.Err = all.CheckOwn(in, n, v.Report)
		}
		return v
	})
	absent = session.Contact{Pins: all.Pins, Record: all.Record, States: all.States}
	for i, n := range old {
		v := all.Visits[i]
		switch why := session.WhyAbsent(v.Err); {
		case why != "":
			r.silent = append(r.silent, n)
			fmt.Fprintf(r.ports.Log, "  %-16s host %s %s, so it is not reset. It must stay off until it is reset\n", n.Name, n.Host, why)
		case v.Err != nil:
			return absent, &task.Error{Reason: session.Reason(v.Err), Host: n.Name, Step: "connect by SSH",
				Err: fmt.Errorf("the old control plane on host %s answers, but cannot be reset: %w. %s. Correct this or switch the machine off; the next attempt continues", n.Host, v.Err, r.unchanged())}
		case !session.IsEmpty(v.Report):
			absent.Nodes, absent.Visits = append(absent.Nodes, n), append(absent.Visits, v)
		}
	}
	return absent, nil
}

// checkMajority returns an error if etcd works, because the restore deletes its content, unless the
// user accepts this. After a restore has begun, etcd is the empty one of the restore. When it has the
// content of the backup, users may have written something since.
func (r *restoration) checkMajority(ctx context.Context, absent session.Contact) error {
	begun := r.members.Now.Restoring != ""
	if r.in.Request.Restore.Force || begun && !r.filled {
		return nil
	}
	r.progress.Set(2, "Check that etcd has lost its majority")
	var alive []contract.Node
	for i, n := range r.c.Nodes {
		if len(r.c.Visits[i].Report.Kubernetes) > 0 {
			alive = append(alive, n)
		}
	}
	alive = append(alive, absent.Nodes...)
	works, err := r.works(ctx, alive)
	if err != nil {
		return err
	}
	if works == "" {
		return nil
	}
	if err := r.store(ctx, contract.KeyProved, ""); err != nil {
		return err
	}
	name, from := r.in.Request.Provisioning+" -n "+r.in.Request.Namespace, session.Printable(r.in.Request.Restore.Backup)
	say := "Nothing was changed. To give this up"
	if begun {
		say = fmt.Sprintf("An earlier attempt has given it the content of a backup, and users may have written something since. "+
			"To complete that restore: kubectl annotate bpa %s %s-. To begin again and give up what was written", name, contract.AnnotationRestore)
	}
	return &task.Error{Reason: contract.ReasonInvalidRequest, Host: works, Step: "check that etcd has lost its majority",
		Err: fmt.Errorf("etcd works: %s answers with a majority of its members, and a restore would delete what it contains. %s: "+
			"kubectl bpa restore %s --from %s --force", works, say, name, from)}
}

// checkFenced returns an error if old control planes that do not answer may still run: the controller then
// powers their hosts off and starts the next run. It does not do so before a run has proved that the copy
// is good and that no majority of etcd answers, because these hosts could be the majority of an etcd that
// works.
func (r *restoration) checkFenced(ctx context.Context) error {
	asked := r.in.Request.Restore
	if len(r.silent) == 0 || asked.Fenced || asked.Force || r.members.Now.Restoring != "" {
		return nil
	}
	if err := r.store(ctx, contract.KeyProved, asked.Asked); err != nil {
		return err
	}
	return &task.Error{Reason: contract.ReasonHostsNotFenced, Host: r.silent[0].Name, Others: session.Names(r.silent[1:]), Step: "check that old control planes are off",
		Err: fmt.Errorf("the backup is good and etcd has lost its majority, but old control planes that do not answer may still run: %s. "+
			"Nothing was changed. The controller powers their hosts off and starts the next run", session.JoinNames(r.silent))}
}

// works returns the name of an old control plane on which etcd answers a read that needs the majority;
// empty: there is none. An API server needs such a read for its answer.
func (r *restoration) works(ctx context.Context, alive []contract.Node) (string, error) {
	if len(alive) == 0 {
		return "", nil
	}
	found, err := cluster.Find(ctx, r.in.For(alive), r.key, r.c.Pins, r.ports)
	if err != nil {
		return "", err
	}
	defer found.Close()
	if found != nil {
		return found.Client.At.Name, nil
	}
	for _, n := range alive {
		w := r.watch()
		c := &cluster.View{Client: w, Ready: map[string]bool{n.Name: true}}
		err := c.OnEtcd(ctx, []contract.Node{n}, func(e etcd.Client) error { return e.Run("endpoint health", nil) })
		w.Close()
		if err == nil {
			return n.Name, nil
		}
		if err := session.Stopped(ctx, "the check of etcd"); err != nil {
			return "", err
		}
	}
	return "", nil
}

// reset removes the old control planes from all machines that answer.
func (r *restoration) reset(ctx context.Context, absent session.Contact) error {
	var living []contract.Node
	for i, n := range r.c.Nodes {
		if !session.IsEmpty(r.c.Visits[i].Report) {
			living = append(living, n)
		}
	}
	report := r.part(restoreResetFrom, restorePlayFrom)
	if len(living) > 0 {
		fmt.Fprintf(r.ports.Log, "\nThe old control planes are reset: %s\n", session.JoinNames(living))
		w := reset.Work{Input: r.in, Key: r.key, Contact: r.c, Ports: r.ports, Report: report}
		if err := r.proven(ctx, living, w.Reset(ctx, living, func(contract.Node) error { return nil })); err != nil {
			return err
		}
	}
	if len(absent.Nodes) > 0 {
		fmt.Fprintf(r.ports.Log, "\nOld control planes that are not used any more are reset: %s\n", session.JoinNames(absent.Nodes))
		in := r.in.For(absent.Nodes)
		in.HostsINI = nil // a new machine may have the name of such a node in the inventory
		w := reset.Work{Input: in, Key: r.key, Contact: absent, Ports: r.ports, Report: report}
		if err := r.proven(ctx, absent.Nodes, w.Reset(ctx, absent.Nodes, func(n contract.Node) error { return w.Leave(ctx, n) })); err != nil {
			return err
		}
	}
	// facts of the machines before the reset are not valid any more
	if err := os.RemoveAll(filepath.Join(r.in.ScratchDir, "facts")); err != nil {
		return task.Because(contract.ReasonInternal, err)
	}
	return nil
}

func (r *restoration) proven(ctx context.Context, nodes []contract.Node, errs []error) error {
	return errors.Join(session.Stopped(ctx, "the reset of the old control planes"), reset.Incomplete(nodes, errs))
}

// install installs the control planes with the keys of the backup.
func (r *restoration) install(ctx context.Context) (string, error) {
	in := r.in.For(r.planes)
	if err := prepare.Nodes(ctx, in, r.key, r.c, r.ports); err != nil {
		return "", err
	}
	if err := r.placeKeys(ctx); err != nil {
		return "", err
	}
	if err := controlplane.FillEtcdClients(ctx, r.in, r.key, r.c.Pins, r.ports); err != nil {
		return "", err
	}
	counted := play.CountTasks(r.in)
	files, err := play.Prepare(r.in, r.c.Pins)
	if err != nil {
		return "", task.Because(contract.ReasonInternal, err)
	}
	recap, err := play.Run(ctx, r.in, files, r.ports, r.part(restorePlayFrom, restoreEtcdFrom), counted)
	if err != nil {
		return "", err
	}
	if err := controlplane.RemoveEtcdClients(ctx, r.in, r.key, r.c.Pins, r.in.PlaybookNodes(), r.ports); err != nil {
		return "", err
	}
	return recap, session.StoreJoined(ctx, r.ports.Installed, session.HostUIDs(r.in.Nodes))
}

// placeKeys writes the keys of the backup to all new control planes. kubeadm and kubespray keep
// authorities that they find.
func (r *restoration) placeKeys(ctx context.Context) error {
	files, err := keyFiles(r.backup)
	if err != nil {
		return r.refused(err)
	}
	r.progress.Set(restorePlayFrom, "Write the keys of the cluster")
	fmt.Fprintf(r.ports.Log, "The keys of the backup are written to %s\n", session.JoinNames(r.planes))
	return r.eachPlane(ctx, "write the keys", func(ctx context.Context, n contract.Node, conn node.Connection) error {
		for _, f := range files {
			if err := r.write(ctx, conn, f); err != nil {
				return err
			}
		}
		return nil
	})
}
