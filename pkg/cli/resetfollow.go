package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// resetPace is the time between two looks at a run. A reset takes minutes.
const resetPace = 2 * time.Second

// followReset shows the progress of a run until the run ends, and returns the run. Connection errors
// do not end it.
func (s *session) followReset(ctx context.Context, site *site, o resetOptions, run *tekton.PipelineRun) (*tekton.PipelineRun, error) {
	out := newDisplay(s.Out)
	defer out.close()
	tick := time.NewTicker(s.pace)
	defer tick.Stop()
	uid := run.UID
	for {
		switch {
		case ctx.Err() != nil: // before all else: the select below can miss it if the tick is ready too
			return nil, ctx.Err()
		case run.IsDone():
			return run, nil
		}
		out.show(site.resetProgress(ctx, run, s.now()))
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		now := &tekton.PipelineRun{}
		err := site.client.Get(ctx, client.ObjectKeyFromObject(run), now)
		switch {
		case apierrors.IsNotFound(err) || err == nil && now.UID != uid:
			return nil, fmt.Errorf("PipelineRun %s was deleted. Its hosts stay in quarantine: reset them again with\n  %s", run.Name, o.command(site, o.hosts))
		case permanent(err):
			return nil, site.explain(err)
		case err == nil:
			run = now
		}
	}
}

// resetProgress describes the progress of a run, as the task reports it.
func (s *site) resetProgress(ctx context.Context, run *tekton.PipelineRun, now time.Time) update {
	u := update{Elapsed: max(now.Sub(run.CreationTimestamp.Time), 0), Percent: -1, Text: "waiting for the pod of the run"}
	var cm corev1.ConfigMap
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: contract.ProgressName(run.Name)}, &cm); err != nil {
		return u // the progress is only information
	}
	var p contract.Progress
	if text := cm.Data[contract.KeyProgress]; text != "" && json.Unmarshal([]byte(text), &p) == nil {
		u.Percent, u.Text = p.Percent, clean(p.Step)
	}
	return u
}

// concludeReset ends the quarantine of the hosts and removes the marks of those that the task has
// found clean. This also applies after a failure: each host has its own result.
func (s *session) concludeReset(ctx context.Context, site *site, o resetOptions, run *tekton.PipelineRun, targets *resetTargets) error {
	var cm corev1.ConfigMap
	if err := site.client.Get(ctx, client.ObjectKey{Namespace: site.namespace, Name: contract.InstalledName(run.Name)}, &cm); err != nil {
		return fmt.Errorf("read the result of PipelineRun %s: %w", run.Name, site.explain(err))
	}
	states, err := contract.ParseHostStates(cm.Data[contract.KeyHosts])
	if err != nil {
		return fmt.Errorf("the result of PipelineRun %s in ConfigMap %s is not valid: %w", run.Name, cm.Name, err)
	}
	why := site.whyNotReset(ctx, run)
	var failed, names []string
	for _, h := range targets.chosen {
		isClean := states[h.UID] == contract.HostClean
		err := site.endQuarantine(ctx, run, h, isClean)
		switch {
		case isClean && err == nil:
			_, _ = fmt.Fprintf(s.Out, "%s is clean and can be selected again.\n", h.Name)
			continue
		case isClean:
			failed = append(failed, fmt.Sprintf("  %s: it is clean, but %v", h.Name, err))
		case err != nil:
			failed = append(failed, fmt.Sprintf("  %s: %s; %v", h.Name, why, err))
		default:
			failed = append(failed, fmt.Sprintf("  %s: %s", h.Name, why))
		}
		names = append(names, h.Name)
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d hosts were not reset:\n%s\nSee the log, fix the cause, and reset them again:\n  %s\n  %s",
		len(failed), len(targets.chosen), strings.Join(failed, "\n"), site.resetLog(run.Name, "--tail=60"), o.command(site, names))
}

// whyNotReset describes why hosts of a run are not clean: by the failure that the task reports, else
// by the task's summary, else by Tekton's message.
func (s *site) whyNotReset(ctx context.Context, run *tekton.PipelineRun) string {
	var tasks tekton.TaskRunList
	if err := s.client.List(ctx, &tasks, client.InNamespace(s.namespace), client.MatchingLabels{"tekton.dev/pipelineRun": run.Name}); err == nil {
		for _, task := range tasks.Items {
			for _, result := range task.Status.Results {
				if why := describeResult(result.Name, result.Value.StringVal); why != "" {
					return why
				}
			}
		}
	}
	if c := run.Status.GetCondition(apis.ConditionSucceeded); c != nil {
		return clean(c.Reason + ": " + c.Message)
	}
	return "the run has no result"
}

// describeResult describes a result of the task. It returns an empty string for a result that does
// not explain a failure.
func describeResult(name, value string) string {
	switch name {
	case contract.ResultRecap:
		return clean(value)
	case contract.ResultFailure:
		var f contract.Failure
		if json.Unmarshal([]byte(value), &f) != nil || f.Reason == "" {
			return clean(value)
		}
		text := string(f.Reason)
		if f.Host != "" {
			text += " on " + strings.Join(append([]string{f.Host}, f.Others...), ", ")
		}
		return clean(text + ": " + f.Message)
	}
	return ""
}
