package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/kubernetes"
)

// Annotations of Metal3. A detached host is removed from Metal3's provisioner, but only in some states, and not by each
// version of Metal3. A paused one is not touched in any state, so a restored host is both until somebody attaches it.
const (
	detachedAnnotation = "baremetalhost.metal3.io/detached"
	pausedAnnotation   = "baremetalhost.metal3.io/paused"
	// restoredAnnotation marks what a restore has detached or paused, with the time of the restore.
	restoredAnnotation = "bpa.akraino.org/restored-by-machine"
)

// Values of the annotations, by which those of the restore are known. Metal3 reads that of detached: detach in each
// state, and delete nothing.
var values = map[string]string{
	detachedAnnotation: `{"deleteAction":"delay","force":true}`,
	pausedAnnotation:   "bpa-machine-restore",
}

const (
	hostCRD         = "baremetalhosts.metal3.io"
	provisioningCRD = "provisionings.bpa.akraino.org"
)

// Host is a BareMetalHost of a restored machine.
type Host struct {
	Namespace, Name string
	State           string // of provisioning
	Consumer        string // what uses the host, as KIND NAMESPACE/NAME; empty: nothing
	Image           string // URL of the requested operating system
	Online          bool   // whether the host is to be on
	Deleting        bool
	Restored        time.Time // when a restore has detached it; zero: nobody has to attach it
}

// ID is NAMESPACE/NAME.
func (h Host) ID() string { return h.Namespace + "/" + h.Name }

type object struct {
	Metadata struct {
		Namespace, Name   string
		DeletionTimestamp *time.Time
		Annotations       map[string]string
	}
	Spec struct {
		Online      bool
		Paused      bool
		Image       *struct{ URL string }
		ConsumerRef *struct{ Kind, Namespace, Name string }
	}
	Status struct {
		Provisioning struct{ State string }
	}
}

func (o object) host() Host {
	h := Host{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, State: o.Status.Provisioning.State, Online: o.Spec.Online, Deleting: o.Metadata.DeletionTimestamp != nil}
	if ref := o.Spec.ConsumerRef; ref != nil {
		h.Consumer = fmt.Sprintf("%s %s/%s", ref.Kind, ref.Namespace, ref.Name)
	}
	if o.Spec.Image != nil {
		h.Image = o.Spec.Image.URL
	}
	h.Restored, _ = time.Parse(time.RFC3339, o.Metadata.Annotations[restoredAnnotation])
	return h
}

// kind is a kind of custom objects that an API server has.
type kind struct{ group, resource string }

func (k kind) path(o object) string {
	return k.group + "/namespaces/" + o.Metadata.Namespace + "/" + k.resource + "/" + o.Metadata.Name
}

// objects returns all objects of the kind of a CRD. Without the CRD there are none. An API server that has just started
// does not know the kind yet: objects asks until it does.
func objects(ctx context.Context, api *kubernetes.Client, crd string) (kind, []object, error) {
	var definition struct {
		Spec struct {
			Group    string
			Names    struct{ Plural string }
			Versions []struct {
				Name   string
				Served bool
			}
		}
	}
	err := api.Get(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+crd, &definition)
	if errors.Is(err, kubernetes.ErrNotFound) {
		return kind{}, nil, nil
	}
	if err != nil {
		return kind{}, nil, err
	}
	k := kind{resource: definition.Spec.Names.Plural}
	for _, v := range definition.Spec.Versions {
		if v.Served && k.group == "" {
			k.group = "/apis/" + definition.Spec.Group + "/" + v.Name
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		var list struct{ Items []object }
		err := api.Get(ctx, k.group+"/"+k.resource, &list)
		if !errors.Is(err, kubernetes.ErrNotFound) {
			return k, list.Items, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return k, nil, fmt.Errorf("the API server does not serve %s: %w", crd, err)
		}
	}
}

// DetachAll detaches all hosts, and returns them as they were.
func DetachAll(ctx context.Context, api *kubernetes.Client, now time.Time) ([]Host, error) {
	k, all, err := objects(ctx, api, hostCRD)
	var hosts []Host
	for _, o := range all {
		set := map[string]any{restoredAnnotation: now.UTC().Format(time.RFC3339)}
		for name, value := range values {
			if _, has := o.Metadata.Annotations[name]; !has { // one of a user stays when the host is attached
				set[name] = value
			}
		}
		if err := annotate(ctx, api, k.path(o), set); err != nil {
			return nil, err
		}
		hosts = append(hosts, o.host())
	}
	return hosts, err
}

// PauseAll pauses all Provisionings that are not paused, so that no run starts before somebody has looked at its hosts.
// It also returns those that are being deleted: nothing pauses a deletion.
func PauseAll(ctx context.Context, api *kubernetes.Client, now time.Time) (paused, deleting []string, err error) {
	k, all, err := objects(ctx, api, provisioningCRD)
	for _, o := range all {
		if o.Metadata.DeletionTimestamp != nil {
			deleting = append(deleting, o.Metadata.Namespace+"/"+o.Metadata.Name)
			continue
		}
		if o.Spec.Paused {
			continue
		}
		err := api.Patch(ctx, k.path(o), map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{restoredAnnotation: now.UTC().Format(time.RFC3339)}},
			"spec":     map[string]any{"paused": true},
		})
		if err != nil {
			return nil, nil, err
		}
		paused = append(paused, o.Metadata.Namespace+"/"+o.Metadata.Name)
	}
	return paused, deleting, err
}

// Hosts returns all hosts.
func Hosts(ctx context.Context, api *kubernetes.Client) (hosts []Host, err error) {
	_, all, err := objects(ctx, api, hostCRD)
	for _, o := range all {
		hosts = append(hosts, o.host())
	}
	return hosts, err
}

// Paused returns the Provisionings that a restore has paused and nobody has resumed.
func Paused(ctx context.Context, api *kubernetes.Client) (paused []string, err error) {
	_, all, err := objects(ctx, api, provisioningCRD)
	for _, o := range all {
		if o.Spec.Paused && o.Metadata.Annotations[restoredAnnotation] != "" {
			paused = append(paused, o.Metadata.Namespace+"/"+o.Metadata.Name)
		}
	}
	return paused, err
}

// Attach gives the named hosts back to Metal3, or all that a restore has detached if names is empty. Annotations of
// users stay. It changes nothing if one of the names is not that of such a host.
func Attach(ctx context.Context, api *kubernetes.Client, names []string) (attached []string, err error) {
	k, all, err := objects(ctx, api, hostCRD)
	if err != nil {
		return nil, err
	}
	var chosen []object
	for _, o := range all {
		if h := o.host(); !h.Restored.IsZero() && (len(names) == 0 || slices.Contains(names, h.ID())) {
			chosen = append(chosen, o)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(chosen, func(o object) bool { return o.host().ID() == name }) {
			return nil, fmt.Errorf("no restore has detached a host %s, so nothing was changed: `machine attach-hosts` lists those that wait, as NAMESPACE/NAME", name)
		}
	}
	for _, o := range chosen {
		set := map[string]any{restoredAnnotation: nil}
		for name, value := range values {
			if o.Metadata.Annotations[name] == value {
				set[name] = nil
			}
		}
		if err := annotate(ctx, api, k.path(o), set); err != nil {
			return attached, err
		}
		attached = append(attached, o.host().ID())
	}
	return attached, nil
}

func annotate(ctx context.Context, api *kubernetes.Client, path string, set map[string]any) error {
	return api.Patch(ctx, path, map[string]any{"metadata": map[string]any{"annotations": set}})
}
