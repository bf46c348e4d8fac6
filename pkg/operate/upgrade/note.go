package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// errNoLeader reports that no controller manager updates the status of workloads.
var errNoLeader = errors.New("the controller manager has not renewed its lease, so the status of workloads is old")

// maxNoted is the largest number of workloads in contract.KeyAvailable. Their names have less than
// 200 KiB then, and a ConfigMap may have 1 MiB.
const maxNoted = 500

// noted has the workloads that were available before a batch. It is stored under
// contract.KeyAvailable from before the drain until they are available after the batch: an attempt
// that broke a workload may be interrupted, and the next one must not take it for broken before. The
// next run may also be that of another batch, if all nodes of this one are upgraded.
type noted struct {
	// Nodes are the nodes of the batch. Version, Settings and Patch are the level that they get. Work
	// is the same for a message.
	Nodes    []string `json:"nodes"`
	Version  string   `json:"version"`
	Settings string   `json:"settings"`
	// Own are the settings of nodes with variables of their own, by name.
	Own   map[string]string `json:"own,omitempty"`
	Patch string            `json:"patch,omitempty"`
	Work  string            `json:"work"`
	// Names are the first ones of the workloads, and More is the number of the others.
	Names []string `json:"names"`
	More  int      `json:"more,omitempty"`
}

// readNoted reads which workloads were available before an earlier batch or attempt.
func (u *upgrader) readNoted(ctx context.Context) error {
	text, err := u.ports.Installed.Get(ctx, contract.KeyAvailable)
	if err != nil {
		return task.Because(kube.Reason(err), err)
	}
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &u.noted); err != nil {
		return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", contract.KeyAvailable, err))
	}
	return nil
}

// endBatch waits until what was available before another batch is available again, if that batch is
// not complete. It does nothing in a further attempt for the same batch: there, a workload may wait
// for a node that is cordoned.
func (u *upgrader) endBatch(ctx context.Context) error {
	same := u.noted.Version == u.in.Request.KubernetesVersion && u.noted.Settings == u.in.Request.Settings() && u.noted.Patch == u.in.Request.Upgrade.Patch &&
		maps.Equal(u.noted.Own, u.noteOwn())
	if len(u.batch) == 0 || same && len(session.Without(session.Names(u.batch), u.noted.Nodes)) == 0 {
		return nil
	}
	err := u.awaitAvailable(ctx)
	if u.noted = (noted{}); err == nil {
		return nil
	}
	var known *task.Error
	if errors.As(err, &known) {
		known.Err = fmt.Errorf("%s not changed, because an earlier batch is not complete. %w", session.JoinNames(u.batch), known.Err)
	}
	return err
}

// noteOwn returns noted.Own after the batch is noted: with those of its nodes that have variables of their own.
func (u *upgrader) noteOwn() map[string]string {
	all := maps.Clone(u.noted.Own)
	for _, n := range u.batch {
		delete(all, n.Name)
		if own := u.in.Request.SettingsOf(n); own != u.in.Request.Settings() {
			if all == nil {
				all = map[string]string{}
			}
			all[n.Name] = own
		}
	}
	return all
}

// note stores which workloads are available before the nodes are drained. Those that were available
// before an earlier attempt stay in the list. Other ones do not block the upgrade, and are logged.
func (u *upgrader) note(ctx context.Context) error {
	all, err := workloads(ctx, u.w, slices.Collect(maps.Keys(kinds)))
	if err != nil {
		return cluster.Unanswered("find the workloads that are available before the upgrade", err)
	}
	names, lacking := available(all)
	lacking = slices.DeleteFunc(lacking, func(w workload) bool { return slices.Contains(u.noted.Names, w.String()) })
	fmt.Fprintf(u.ports.Log, "%s available now\n", session.Count(len(names), "workload"))
	if len(lacking) > 0 {
		fmt.Fprintf(u.ports.Log, "  not available before the upgrade, so not waited for: %s\n", listStates(lacking, 10))
	}
	u.noted = noted{Nodes: session.With(u.noted.Nodes, session.Names(u.batch)), Version: u.in.Request.KubernetesVersion, Settings: u.in.Request.Settings(), Own: u.noteOwn(),
		Patch: u.in.Request.Upgrade.Patch, Work: u.work(), Names: session.With(u.noted.Names, names)}
	if len(u.noted.Names) == 0 {
		return nil
	}
	stored := u.noted
	if over := len(stored.Names) - maxNoted; over > 0 {
		stored.Names, stored.More = stored.Names[:maxNoted], over
		fmt.Fprintf(u.ports.Log, "  if this attempt is interrupted, the next one waits for the first %d of them and for those that are available then\n", maxNoted)
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return task.Because(contract.ReasonInternal, err)
	}
	return u.storeNoted(ctx, string(text))
}

func (u *upgrader) storeNoted(ctx context.Context, text string) error {
	if err := u.ports.Installed.Set(ctx, contract.KeyAvailable, text); err != nil {
		return task.Because(kube.Reason(err), err)
	}
	return nil
}

// awaitAvailable waits until all workloads are available that were available before the batch, and
// removes their list.
func (u *upgrader) awaitAvailable(ctx context.Context) error {
	if len(u.noted.Names) == 0 {
		return nil
	}
	fmt.Fprintf(u.ports.Log, "Waiting until what was available before the upgrade is available\n")
	limited, cancel := context.WithTimeout(ctx, u.in.HealthLimit)
	defer cancel()
	var since *string
	var lacking []workload
	var unknown error // why the state is not known
	last := ""
	for pause := u.in.FirstPause(); ; pause = min(2*pause, session.LongestPause) {
		now, err := u.lacking(limited, &since)
		if inTime(limited) {
			lacking, unknown = now, err
			if err == nil && len(now) == 0 {
				fmt.Fprintf(u.ports.Log, "  %s available\n", session.Count(len(u.noted.Names), "workload"))
				return u.storeNoted(ctx, "")
			}
		}
		if text := listStates(lacking, 10); text != "" && text != last {
			fmt.Fprintf(u.ports.Log, "  not available yet: %s\n", text)
			last = text
		}
		if u.yields(ctx) {
			return u.unavailable(lacking, unknown)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			continue
		case <-limited.Done():
			timer.Stop()
		}
		if err := session.Stopped(ctx, "the upgrade"); err != nil {
			return err
		}
		return u.unavailable(lacking, unknown)
	}
}

// lacking returns the workloads that were available before the batch and are not now. It returns an
// error while the state is not known. While no controller manager leads, for example after its
// control plane node was upgraded, the numbers in the status of workloads are old. The leader renews
// its lease every two seconds.
func (u *upgrader) lacking(ctx context.Context, since **string) ([]workload, error) {
	lease, err := leaderVersion(ctx, u.w)
	if err != nil {
		return nil, err
	}
	if *since == nil {
		*since = &lease
	}
	now, err := workloads(ctx, u.w, kindsNamed(u.noted.Names))
	if err != nil {
		return nil, err
	}
	if lease != "" && lease == **since { // there is none if the controller manager runs without leader election
		return missing(u.noted.Names, now), errNoLeader
	}
	return missing(u.noted.Names, now), nil
}

// unavailable is the error of a batch after which workloads are not available.
func (u *upgrader) unavailable(lacking []workload, unknown error) error {
	failed := &task.Error{Reason: contract.ReasonClusterUnhealthy, Step: "check the workloads after the upgrade"}
	done := fmt.Sprintf("the %s of %s is done", u.noted.Work, strings.Join(u.noted.Nodes, ", "))
	if len(lacking) == 0 {
		failed.Err = fmt.Errorf("%s, but it is not known whether the workloads are available: %w. No other node was changed. The next attempt checks them", done, unknown)
		return failed
	}
	failed.Err = fmt.Errorf("%s, but these workloads were available before it and are not after %s: %s. No other node was changed. "+
		"To see why, run on the cluster: %s. Repair them, scale them to 0 or delete them, then run: %s",
		done, u.in.HealthLimit, listStates(lacking, 3), lacking[0].describe(), u.retry())
	return failed
}
