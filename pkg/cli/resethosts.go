package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	hostfacts "github.com/akraino-icn/bpa/pkg/hosts/facts"
	"github.com/akraino-icn/bpa/pkg/hosts/networkdata"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// resetTargets are the hosts to reset, in the order of their names, and all hosts of the namespace.
type resetTargets struct {
	chosen, all []hosts.Host
	// run is the run for which all chosen hosts are in quarantine. Empty: there is no such run.
	run string
}

// resettable returns the hosts that the command line names. If one of them cannot be reset, it
// returns an error that lists the reasons.
func (s *site) resettable(ctx context.Context, o resetOptions) (*resetTargets, error) {
	view, err := s.hosts(ctx)
	if err != nil {
		return nil, err
	}
	targets := &resetTargets{all: view.facts}
	var refused []string
	quarantines := map[string]bool{}
	for _, name := range o.hosts {
		i := slices.IndexFunc(view.facts, func(h hosts.Host) bool { return h.Name == name })
		why := fmt.Sprintf("there is no BareMetalHost of this name in namespace %s", s.namespace)
		if i >= 0 {
			why = s.notResettable(&view.facts[i], view.Hosts[i], o.force)
		}
		if why != "" {
			refused = append(refused, "  "+name+": "+clean(why))
			continue
		}
		if err := s.readNetworkData(ctx, view.objects[i], &view.facts[i], o); err != nil {
			return nil, err
		}
		targets.chosen = append(targets.chosen, view.facts[i])
		targets.run, _, _ = resetOf(view.objects[i])
		quarantines[targets.run] = true
	}
	if len(refused) > 0 {
		return nil, fmt.Errorf("nothing was reset:\n%s", strings.Join(refused, "\n"))
	}
	if len(quarantines) > 1 {
		targets.run = ""
	}
	return targets, nil
}

// notResettable explains why a host cannot be reset. The result is empty if it can.
func (s *site) notResettable(h *hosts.Host, row hostRow, force bool) string {
	switch state := metal3.ProvisioningState(row.State); {
	case row.HolderGone:
		return fmt.Sprintf("it is held by %s, which does not exist: release it with the command that `kubectl bpa hosts -n %s%s` shows, then reset it", row.Holder, s.namespace, s.flags)
	case h.Holder != nil && h.Holder.Kind == hosts.Kind:
		return fmt.Sprintf("it is held by %s: `kubectl delete bpa %s -n %s%s` resets its hosts and then releases them", row.Holder, h.Holder.Name, h.Holder.Namespace, s.flags)
	case h.Holder != nil:
		return fmt.Sprintf("it is held by %s: a host can be reset when its holder has released it", row.Holder)
	case h.Bare && h.UsedBy == contract.User{}:
		return "it has no operating system, so there is nothing to reset"
	case h.Bare:
		return fmt.Sprintf("it has no operating system, so there is nothing to reset. Other Provisionings with spec.osImage can use it in spite of its mark. So that %s can use it, too, remove the mark with `kubectl annotate bmh %s -n %s%s %s-`",
			h.UsedBy.Cluster(), h.Name, s.namespace, s.flags, contract.AnnotationUsedBy)
	case state != metal3.StateProvisioned && state != metal3.StateExternallyProvisioned:
		return fmt.Sprintf("it is %s: a host can be reset while it is provisioned", state)
	case h.UsedBy == contract.User{} && !force:
		return "BPA has installed no cluster on it since its last reset. If it runs a Kubernetes of somebody else that you want to remove, add --force"
	}
	return ""
}

// readNetworkData reads the network data of a host if its address depends on them.
func (s *site) readNetworkData(ctx context.Context, object *metal3.BareMetalHost, h *hosts.Host, o resetOptions) error {
	if !h.NetworkUnread || !h.WantsNetworkData("", o.access()) {
		return nil
	}
	var secret corev1.Secret
	name := hostfacts.NetworkDataSecret(object)
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, &secret); err != nil {
		return fmt.Errorf("read the address of host %s in its network data, Secret %s: %w", h.Name, name, s.explain(err))
	}
	data, err := networkdata.OfSecret(secret.Data)
	if err != nil {
		return fmt.Errorf("read the address of host %s in its network data, Secret %s: %w", h.Name, name, err)
	}
	h.NetworkData, h.NetworkUnread = data, false
	return nil
}

// The reason of a quarantine by this command is quarantinePrefix with the name of the run. If the
// host was in quarantine before, quarantineBefore follows, with the reason of the user.
const (
	quarantinePrefix = "being reset by PipelineRun "
	quarantineBefore = "; before: "
)

// resetOf returns the run for which a host is in quarantine, or an empty name. If the host was in
// quarantine before, before is the reason, and wasQuarantined is true.
func resetOf(host *metal3.BareMetalHost) (run, before string, wasQuarantined bool) {
	why, is := host.Annotations[contract.AnnotationQuarantine]
	rest, ours := strings.CutPrefix(why, quarantinePrefix)
	if !ours {
		return "", why, is
	}
	return strings.Cut(rest, quarantineBefore)
}

// runOf returns the run for which a host is in quarantine. It is nil if the host is not in quarantine
// for a run, or if the run does not exist any more.
func (s *site) runOf(ctx context.Context, host *metal3.BareMetalHost) (*tekton.PipelineRun, error) {
	name, _, _ := resetOf(host)
	if name == "" {
		return nil, nil
	}
	run := &tekton.PipelineRun{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, run)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read PipelineRun %s, for which host %s is in quarantine: %w", name, host.Name, s.explain(err))
	}
	return run, nil
}

// quarantine puts the hosts in quarantine for a run that exists, so that nobody claims them and no
// other run resets them. It fails if somebody has claimed one of them meanwhile, or has used it for
// another cluster, or if the host is in quarantine for another run that has not ended.
func (s *site) quarantine(ctx context.Context, run *tekton.PipelineRun, targets *resetTargets) error {
	for _, h := range targets.chosen {
		err := s.editHost(ctx, h, func(host *metal3.BareMetalHost) error {
			if now := hostfacts.Of(host, nil); now.Holder != nil || now.UsedBy != h.UsedBy {
				return fmt.Errorf("somebody has claimed or changed host %s meanwhile: see `kubectl bpa hosts -n %s%s`", h.Name, s.namespace, s.flags)
			}
			other, err := s.runOf(ctx, host)
			if err != nil {
				return err
			}
			if other != nil && other.UID != run.UID && !other.IsDone() {
				return fmt.Errorf("PipelineRun %s already resets host %s: another command has started it meanwhile. Wait for its end, then try again:\n  %s",
					other.Name, h.Name, s.resetLog(other.Name, "-f"))
			}
			why := quarantinePrefix + run.Name
			if _, before, was := resetOf(host); was {
				why += quarantineBefore + before
			}
			if host.Annotations == nil {
				host.Annotations = map[string]string{}
			}
			host.Annotations[contract.AnnotationQuarantine] = why
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// endQuarantine ends the quarantine of a host for a run. If the host is clean, it also removes the
// mark, unless somebody has claimed the host meanwhile. It changes nothing if the host is no longer
// in quarantine for this run: another run may be working on the host, or it was in use since.
func (s *site) endQuarantine(ctx context.Context, run *tekton.PipelineRun, h hosts.Host, isClean bool) error {
	return s.editHost(ctx, h, func(host *metal3.BareMetalHost) error {
		name, before, was := resetOf(host)
		now := hostfacts.Of(host, nil)
		current, err := s.runOf(ctx, host) // a deleted run can have a successor of the same name
		switch {
		case err != nil:
			return err
		case name == run.Name && (current == nil || current.UID == run.UID):
		case isClean:
			return fmt.Errorf("host %s is no longer in quarantine for PipelineRun %s, so nothing was changed: see `kubectl bpa hosts -n %s%s`", h.Name, run.Name, s.namespace, s.flags)
		default:
			return nil
		}
		if isClean && (now.Holder != nil || now.UsedBy != h.UsedBy) {
			return fmt.Errorf("somebody has claimed or changed host %s meanwhile, so its mark stays", h.Name)
		}
		delete(host.Annotations, contract.AnnotationQuarantine)
		if was {
			host.Annotations[contract.AnnotationQuarantine] = before
		}
		if isClean {
			delete(host.Annotations, contract.AnnotationUsedBy)
		}
		return nil
	})
}

// hostRereads limits how often a host is read and written again after a conflict. Conflicts are
// frequent, because Metal3 writes the status of a host at any time.
const hostRereads = 8

// editHost changes a host, unless it is another machine than h by now. After a conflict, it reads
// the host again and repeats the change.
func (s *site) editHost(ctx context.Context, h hosts.Host, change func(*metal3.BareMetalHost) error) error {
	var err error
	for range hostRereads {
		host := &metal3.BareMetalHost{}
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: h.Name}, host); err != nil {
			return fmt.Errorf("read host %s: %w", h.Name, s.explain(err))
		}
		if string(host.UID) != h.UID {
			return fmt.Errorf("host %s was deleted and created again meanwhile", h.Name)
		}
		before := host.DeepCopy()
		if err := change(host); err != nil {
			return err
		}
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err = s.client.Patch(ctx, host, patch); !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("change host %s: %w", h.Name, s.explain(err))
	}
	return nil
}
