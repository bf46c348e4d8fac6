package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// cleanUpLimit is the time limit for undoing an incomplete start. It also applies after an
// interrupt.
const cleanUpLimit = 15 * time.Second

func (o resetOptions) access() contract.Access { return o.resetRequest(&tekton.PipelineRun{}).Access }

// findReset returns the run that resets exactly these hosts, or nil. The hosts must be in quarantine
// for this run. Otherwise, a user with the right to start runs, but without the right to change
// hosts, could pretend that a host is being reset. If the run has ended, its result is still valid,
// because nobody has claimed the hosts since.
//
// Any other active run that resets some of the hosts is an error: two runs must not work on one
// host. next is the number for a new run of these hosts.
func (s *site) findReset(ctx context.Context, names []string, targets *resetTargets) (run *tekton.PipelineRun, next int, err error) {
	var all tekton.PipelineRunList
	if err := s.client.List(ctx, &all, client.InNamespace(s.namespace), client.MatchingLabels(resetLabels())); err != nil {
		if isKindMissing(err) {
			return nil, 0, errors.New("this cluster does not have the kind PipelineRun: install Tekton, or select another cluster with --context or --kubeconfig")
		}
		return nil, 0, s.explain(err)
	}
	next = 1
	wanted := func(name string) bool { return slices.Contains(names, name) }
	for i := range all.Items {
		run := &all.Items[i]
		of := strings.Fields(run.Annotations[annotationHosts])
		same := slices.Equal(of, names)
		if n, err := strconv.Atoi(run.Name[strings.LastIndex(run.Name, "-")+1:]); same && err == nil {
			next = max(next, n+1)
		}
		switch {
		case same && run.Name == targets.run && !run.IsPending():
			return run, 0, nil
		case run.IsDone():
		case run.IsPending() && slices.ContainsFunc(of, wanted):
			return nil, 0, fmt.Errorf("another command is about to start PipelineRun %s, which resets %s: try again. If there is no such command any more:\n  kubectl delete pipelinerun %s -n %s%s",
				run.Name, strings.Join(of, ", "), run.Name, s.namespace, s.flags)
		case same:
			return nil, 0, fmt.Errorf("PipelineRun %s already resets %s, but they are not in quarantine for it: another user has started it, or has ended the quarantine. Stop it, then try again:\n  kubectl delete pipelinerun %s -n %s%s",
				run.Name, strings.Join(of, ", "), run.Name, s.namespace, s.flags)
		case slices.ContainsFunc(of, wanted):
			return nil, 0, fmt.Errorf("PipelineRun %s already resets %s: follow it with\n  kubectl bpa hosts reset %s -n %s%s\nor stop it with\n  kubectl delete pipelinerun %s -n %s%s",
				run.Name, strings.Join(of, ", "), strings.Join(of, " "), s.namespace, s.flags, run.Name, s.namespace, s.flags)
		}
	}
	return nil, next, nil
}

// startReset starts a run that resets the hosts. The run is pending until all hosts are in quarantine
// for it and all objects that it needs exist. If one of these steps fails, or the user interrupts the
// command before that, the run and its objects are removed again.
//
// The run exists before the quarantines that name it. So a quarantine whose run does not exist is
// always an old one, and of two commands for one host only the first one can start its run.
func (s *site) startReset(ctx context.Context, o resetOptions, name string, targets *resetTargets) (*tekton.PipelineRun, error) {
	run := o.makeResetRun(s.namespace, name)
	if _, err := s.objectsOf(o, run, targets); err != nil { // before anything is written
		return nil, err
	}
	if err := s.checkSSHSecret(ctx, o.sshSecret); err != nil {
		return nil, err
	}
	if err := s.client.Create(ctx, run); err != nil { // nothing is undone: a run of this name is of another command
		return nil, s.explainCreate(err, run, o)
	}
	err := s.quarantine(ctx, run, targets)
	if err == nil {
		err = s.launch(ctx, o, run, targets)
	}
	if err == nil {
		return run, nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
	defer stop()
	return nil, errors.Join(err, s.undoStart(ctx, run, targets))
}

func (s *site) objectsOf(o resetOptions, run *tekton.PipelineRun, targets *resetTargets) ([]client.Object, error) {
	request := o.resetRequest(run)
	nodes, err := resetNodes(request, targets)
	if err != nil {
		return nil, fmt.Errorf("%w; for this command, --subnet replaces spec.access.subnets", err)
	}
	return resetObjects(run, request, nodes)
}

// checkSSHSecret fails if there is no Secret with the SSH key: the pod of the run would wait for it.
// A user without the right to read Secrets can start a run without this check.
func (s *site) checkSSHSecret(ctx context.Context, name string) error {
	var secret corev1.Secret
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, &secret)
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no Secret %s in namespace %s: name the Secret with the SSH key to the hosts in --ssh-secret", name, s.namespace)
	case err != nil:
		return s.explain(err)
	case len(secret.Data["ssh-privatekey"]) == 0:
		return fmt.Errorf("the Secret %s in namespace %s has no ssh-privatekey: name the Secret with the SSH key to the hosts in --ssh-secret", name, s.namespace)
	}
	return nil
}

// explainCreate returns the error of a command that could not create its run.
func (s *site) explainCreate(err error, run *tekton.PipelineRun, o resetOptions) error {
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("another command has just created PipelineRun %s, which resets %s. To follow it:\n  %s", run.Name, strings.Join(o.hosts, ", "), o.command(s, o.hosts))
	}
	return fmt.Errorf("create PipelineRun %s: %w", run.Name, s.explain(err))
}

// launch creates the objects of a pending run, and lets Tekton start the run.
func (s *site) launch(ctx context.Context, o resetOptions, run *tekton.PipelineRun, targets *resetTargets) error {
	objects, err := s.objectsOf(o, run, targets) // again, because the objects name the UID of the run
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := s.client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %T %s for the run: %w", object, object.GetName(), s.explain(err))
		}
	}
	pending := run.DeepCopy()
	run.Spec.Status = ""
	if err := s.client.Patch(ctx, run, client.MergeFrom(pending)); err != nil {
		return fmt.Errorf("start PipelineRun %s: %w", run.Name, s.explain(err))
	}
	return nil
}

// undoStart removes a run that was not started, and ends the quarantine of its hosts. Kubernetes
// deletes the objects of the run.
func (s *site) undoStart(ctx context.Context, run *tekton.PipelineRun, targets *resetTargets) error {
	err := s.client.Delete(ctx, run, client.Preconditions{UID: &run.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete PipelineRun %s: %w", run.Name, err)
	}
	var failed []error
	for _, h := range targets.chosen {
		failed = append(failed, s.endQuarantine(ctx, run, h, false))
	}
	return errors.Join(failed...)
}
