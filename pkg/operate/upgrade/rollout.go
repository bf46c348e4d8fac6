package upgrade

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// rollout is a Deployment or a DaemonSet with the progress of its last change.
type rollout struct {
	kind, namespace, name string
	// generation counts the changes of the object, and seen is the last one that its controller has seen.
	generation, seen int
	// wanted, all, updated and available are numbers of pods; all includes old ones. For a DaemonSet,
	// all is not known and has the number of updated ones.
	wanted, all, updated, available int
}

// rolloutFields lets kubectl print a line for each object with what parseRollouts needs.
const rolloutFields = `--output jsonpath='{range .items[*]}{.kind}{"\t"}{.metadata.namespace}{"\t"}{.metadata.name}{"\t"}` +
	`{.metadata.generation}{"\t"}{.status.observedGeneration}{"\t"}{.spec.replicas}{"\t"}{.status.replicas}{"\t"}{.status.updatedReplicas}{"\t"}{.status.availableReplicas}{"\t"}` +
	`{.status.desiredNumberScheduled}{"\t"}{.status.updatedNumberScheduled}{"\t"}{.status.numberAvailable}{"\t"}{.spec.updateStrategy.type}{"\n"}{end}'`

// rollouts returns the Deployments and the DaemonSets of a namespace. The name must be a valid one.
func rollouts(ctx context.Context, w *cluster.Client, namespace string) ([]rollout, error) {
	raw, err := w.Ask(ctx, "get deployments.apps,daemonsets.apps --namespace "+namespace+" --request-timeout=30s "+rolloutFields, maxWorkloads)
	if err != nil {
		return nil, fmt.Errorf("read the Deployments and DaemonSets of namespace %s: %w", namespace, err)
	}
	return parseRollouts(raw), nil
}

func parseRollouts(raw []byte) (all []rollout) {
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 13 || !session.KubernetesName.MatchString(f[2]) {
			continue
		}
		r := rollout{kind: f[0], namespace: f[1], name: f[2], generation: number(f[3]), seen: number(f[4])}
		switch r.kind {
		case "Deployment":
			r.wanted, r.all, r.updated, r.available = number(f[5]), number(f[6]), number(f[7]), number(f[8])
		case "DaemonSet":
			r.wanted, r.updated, r.available = number(f[9]), number(f[10]), number(f[11])
			if f[12] == "OnDelete" { // a user replaces its pods
				r.updated = r.wanted
			}
			r.all = r.updated
		default:
			continue
		}
		all = append(all, r)
	}
	return all
}

// trouble returns what is still to be rolled out; empty: nothing. lost is the number of lost nodes. A
// DaemonSet has a pod on each of them that never becomes available.
func (r rollout) trouble(lost int) string {
	wanted := r.wanted
	if r.kind == "DaemonSet" {
		wanted = max(0, wanted-lost)
	}
	name := fmt.Sprintf("%s %s/%s", r.kind, r.namespace, r.name)
	switch {
	case r.seen < r.generation:
		return name + " was changed, and its controller has not seen the change yet"
	case r.updated < wanted || r.all > r.updated:
		return fmt.Sprintf("%s has %d of %d new pods, and %d old ones", name, r.updated, r.wanted, max(0, r.all-r.updated))
	case r.available < wanted:
		return fmt.Sprintf("%s has %d of %d pods available", name, r.available, r.wanted)
	}
	return ""
}

// awaitRollouts waits until the context ends for the Deployments and DaemonSets of the namespaces. It
// returns what is not rolled out then; empty: everything is.
func (c *configurer) awaitRollouts(ctx context.Context) (why string) {
	tick := time.NewTicker(c.in.PollInterval())
	defer tick.Stop()
	for last := ""; ; {
		now := c.notRolledOut(ctx)
		if ctx.Err() == nil {
			why = now
		}
		if why == "" && ctx.Err() == nil {
			return ""
		}
		if why != last {
			fmt.Fprintf(c.ports.Log, "  %s\n", why)
			last = why
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if why == "" {
				why = "the control plane does not answer"
			}
			return why
		}
	}
}

// notRolledOut returns the first problem of the namespaces; empty: there is none.
func (c *configurer) notRolledOut(ctx context.Context) string {
	lost := 0
	for _, n := range c.members.Now.Nodes {
		if c.lost(n.Name) {
			lost++
		}
	}
	for _, namespace := range c.narrow.Namespaces {
		all, err := rollouts(ctx, c.w, namespace)
		if err != nil {
			return err.Error()
		}
		for _, r := range all {
			if why := r.trouble(lost); why != "" {
				return why
			}
		}
	}
	return ""
}
