package upgrade

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/play"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Progress of a configuration in percent: where the check of the cluster, the playbook and the last check
// begin.
const configureFrom, settleFrom = 10, 80

// tagName matches a tag of kubespray. The tags of a request become an argument of ansible-playbook.
var tagName = regexp.MustCompile(`^[a-z0-9]+([_-][a-z0-9]+)*$`)

// configurer applies variables to a cluster without a drain (contract.Narrow). It works on the record as
// an upgrade of all nodes does, but it changes no node.
type configurer struct {
	*upgrader
	narrow contract.Narrow
	// repeats reports that an earlier run has begun to apply variables and has not completed this. What it
	// has applied may be the reason why system pods do not work.
	repeats bool
}

// Configure applies the variables of Upgrade.Narrow with some tasks of the playbook, and returns the recap.
//
// A healthy cluster is the condition before and after. From before the playbook until after the last check,
// all nodes of the record have a Target with the names of the variables. So if the run fails or is killed,
// the variables are applied again, with the values that the spec has then.
func Configure(ctx context.Context, in session.Input, key ssh.Key, ports session.Ports, progress *playbook.Progress) (string, error) {
	progress.Set(0, "Find out what to apply")
	c := &configurer{upgrader: &upgrader{in: in, key: key, ports: ports, progress: progress}}
	if err := c.plan(ctx); err != nil {
		return "", err
	}
	defer c.w.Close()
	progress.Set(gateFrom, "Check the cluster")
	if err := c.gateBefore(ctx); err != nil {
		return "", err
	}
	if !c.applied() {
		if err := c.apply(ctx); err != nil {
			return "", err
		}
	}
	progress.Set(settleFrom, "Wait for nodes and system pods")
	if err := c.gateAfter(ctx); err != nil {
		return "", err
	}
	if err := c.complete(ctx); err != nil {
		return "", err
	}
	progress.Set(100, "The cluster is healthy")
	return c.recap(), nil
}

// plan checks the request, reads the record, and connects to a control plane.
func (c *configurer) plan(ctx context.Context) (err error) {
	if err := c.check(); err != nil {
		return task.Because(contract.ReasonInvalidRequest, err)
	}
	if err := c.read(ctx); err != nil {
		return err
	}
	if len(node.ControlPlanes(c.in.Nodes)) == 0 {
		return task.Because(contract.ReasonInvalidRequest, errors.New("the cluster has no control plane node whose host is not lost"))
	}
	for _, n := range c.members.Now.Nodes {
		version, _ := c.members.Now.Level(n)
		if version != c.in.Request.KubernetesVersion || n.Target != nil && n.Target.Version != "" && len(n.Target.Variables) == 0 {
			return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("node %s is not completely at Kubernetes %s, so an upgrade must give it the variables. Nothing was changed", n.Name, c.in.Request.KubernetesVersion))
		}
		c.repeats = c.repeats || n.Target != nil && n.Target.Version != ""
	}
	if c.w, err = cluster.Connect(ctx, c.in, c.access()); err != nil {
		return err
	}
	fmt.Fprintf(c.ports.Log, "These variables are applied to the cluster, and no node is drained: %s\n", strings.Join(c.narrow.Variables, ", "))
	for _, name := range c.narrow.Kept {
		fmt.Fprintf(c.ports.Log, "  %s switches an addon off, but kubespray does not remove it: delete its objects with kubectl\n", name)
	}
	return nil
}

// check checks what the request applies. Its words become arguments of programs.
func (c *configurer) check() error {
	upgrade := c.in.Request.Upgrade
	if upgrade == nil || upgrade.Narrow == nil || len(upgrade.Narrow.Variables) == 0 || len(upgrade.Narrow.Tags) == 0 {
		return fmt.Errorf("the request of operation %s does not say which variables are applied with which tags", contract.OperationConfigure)
	}
	c.narrow = *upgrade.Narrow
	for _, tag := range c.narrow.Tags {
		if !tagName.MatchString(tag) || slices.Contains([]string{"all", "always", "never", "tagged", "untagged"}, tag) {
			return fmt.Errorf("%q is not a tag of some tasks", tag)
		}
	}
	for _, name := range c.narrow.Namespaces {
		if !session.KubernetesName.MatchString(name) {
			return fmt.Errorf("%q is not the name of a namespace", name)
		}
	}
	if !slices.Contains([]string{contract.OnFirstControlPlane, contract.OnControlPlanes, contract.OnAllNodes}, c.narrow.On) {
		return fmt.Errorf("it is not known on which nodes to apply the variables: %q", c.narrow.On)
	}
	return nil
}

// applied reports whether an earlier attempt has completed everything.
func (c *configurer) applied() bool {
	return !slices.ContainsFunc(c.members.Now.Nodes, func(n contract.Node) bool { return !c.upgraded(n.Name) })
}

// gateBefore waits until all nodes of the record, except lost ones, and all system pods are Ready. If the
// run repeats another one, it waits only for the nodes: with its variables, a system pod may work again.
func (c *configurer) gateBefore(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, c.in.HealthLimit)
	defer cancel()
	bad, healthy := c.w.AwaitHealthy(limited, c.ports.Log, func(t cluster.Problem) bool { return c.repeats && t.Pod })
	if healthy {
		return nil
	}
	if err := session.Stopped(ctx, "the check of the cluster"); err != nil {
		return err
	}
	if len(bad) == 0 {
		bad = []cluster.Problem{{What: "the control plane does not answer"}}
	}
	return &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: bad[0].Node, Step: "check the cluster before variables are applied",
		Err: fmt.Errorf("the cluster is not healthy, so no variable was applied: %s. Nothing was changed. The next attempt continues", cluster.Summary(bad))}
}

// limitedTo returns the names of the nodes on which the tasks run.
func (c *configurer) limitedTo() []string {
	switch planes := node.ControlPlanes(c.in.Nodes); c.narrow.On {
	case contract.OnFirstControlPlane:
		return session.Names(planes[:1])
	case contract.OnControlPlanes:
		return session.Names(planes)
	}
	return session.Names(c.in.Nodes)
}

// apply marks all nodes of the record as half changed, and runs the playbook.
func (c *configurer) apply(ctx context.Context) error {
	in := c.in
	in.Limit, in.Tags = c.limitedTo(), strings.Join(c.narrow.Tags, ",")
	counted := play.CountTasks(in)
	contacted, err := session.Preflight(ctx, in.For(in.PlaybookNodes()), c.key, c.ports)
	if err != nil {
		return err
	}
	c.c, c.w.Access.Pins = contacted, contacted.Pins
	files, err := play.Prepare(in, contacted.Pins)
	if err != nil {
		return task.Because(contract.ReasonInternal, err)
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	_, err = play.Run(ctx, in, files, c.ports, func(percent int, step string) {
		c.progress.Set(configureFrom+percent*(settleFrom-configureFrom)/100, step)
	}, counted)
	return c.incomplete(ctx, err)
}

// begin marks all nodes of the record in one write.
func (c *configurer) begin(ctx context.Context) error {
	return c.members.Change(ctx, func(next *contract.Installed) {
		for i, n := range next.Nodes {
			target := &contract.Target{Version: c.in.Request.KubernetesVersion, Settings: c.in.Request.SettingsOf(n), Variables: c.narrow.Variables}
			if n.Target != nil {
				target.Variables, target.Patch = session.With(n.Target.Variables, target.Variables), n.Target.Patch
			}
			next.Nodes[i].Target = target
		}
	})
}

// incomplete adds to an error after the playbook has begun what it means for the cluster.
func (c *configurer) incomplete(ctx context.Context, err error) error {
	if err == nil || session.Stopped(ctx, "") != nil {
		return err
	}
	var known *task.Error
	if !errors.As(err, &known) {
		known = &task.Error{Reason: contract.ReasonInternal, Err: err}
	}
	failed := *known
	failed.Err = fmt.Errorf("variables %s are not applied completely. Correct them in the spec or take them back, or repair the cause and run: %s. %w",
		listVariables(c.narrow.Variables), c.retry(), known.Err)
	return &failed
}

// listVariables joins the first names, and adds the number of the others.
func listVariables(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// gateAfter waits until the Deployments and DaemonSets that the playbook may have changed are rolled out,
// and until the cluster is healthy. The success of the playbook means neither.
func (c *configurer) gateAfter(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, c.in.HealthLimit)
	defer cancel()
	if why := c.awaitRollouts(limited); why != "" {
		if err := session.Stopped(ctx, "the check of the cluster"); err != nil {
			return err
		}
		return c.incomplete(ctx, &task.Error{Reason: contract.ReasonClusterUnhealthy, Step: "wait for the changed pods",
			Err: fmt.Errorf("after %s: %s", c.in.HealthLimit, why)})
	}
	bad, healthy := c.w.AwaitHealthy(limited, c.ports.Log, nil)
	if healthy {
		return c.incomplete(ctx, c.w.StartPods(ctx, c.limitedTo(), c.ports))
	}
	if err := session.Stopped(ctx, "the check of the cluster"); err != nil {
		return err
	}
	if len(bad) == 0 {
		bad = []cluster.Problem{{What: "the control plane does not answer"}}
	}
	return c.incomplete(ctx, &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: bad[0].Node, Step: "check the cluster after variables were applied",
		Err: fmt.Errorf("the cluster is not healthy after %s: %s", c.in.HealthLimit, cluster.Summary(bad))})
}

// complete stores in one write that all nodes have the variables. A lost node that is half patched stays so.
func (c *configurer) complete(ctx context.Context) error {
	return c.members.Change(ctx, func(next *contract.Installed) {
		next.Request = session.Lasting(c.in.Request)
		for i, n := range next.Nodes {
			next.Nodes[i].Version, next.Nodes[i].Settings, next.Nodes[i].Target = "", "", n.Target.Unpatched()
		}
	})
}

// recap returns the result in one line.
func (c *configurer) recap() string {
	text := "variables " + strings.Join(c.narrow.Variables, ", ") + " applied, without a drain"
	if len(c.narrow.Kept) > 0 {
		text += "; kubespray has not removed what " + strings.Join(c.narrow.Kept, ", ") + " had installed"
	}
	return task.Cut(text, contract.MaxText)
}
