package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

type eventsOptions struct {
	watch  bool
	output output
}

func newEvents(s *session) *cobra.Command {
	var o eventsOptions
	cmd := &cobra.Command{
		Use:   "events [NAME]",
		Short: "List the events of a cluster, its Backups, Softwares, runs and hosts, the oldest first",
		Long: `List the events of a cluster, its Backups, Softwares, runs and hosts in one list, the
oldest first. The events of a run are also those of its tasks and pods, such as an image
that cannot be pulled.

The API server keeps events for an hour, if nobody has changed it. What must last longer
is in the conditions (kubectl bpa status) and in the results of the runs (kubectl bpa history).`,
		Example: "  kubectl bpa events edge-1\n  kubectl bpa events edge-1 -w\n  kubectl bpa events edge-1 -n site-a -o yaml",
		Args:    oneName(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.output.check(); err != nil {
				return err
			}
			return s.events(cmd.Context(), first(args), &o)
		},
	}
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "then go on with new events, until the Provisioning is deleted or you interrupt the command")
	completeArgs(cmd, s.clusterNames())
	o.output.add(cmd, formatName)
	return cmd
}

func (s *session) events(ctx context.Context, name string, o *eventsOptions) error {
	site, p, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	if o.watch {
		return interrupted(ctx, s.watchEvents(ctx, site, p, o))
	}
	var list corev1.EventList
	if err := site.client.List(ctx, &list, client.InNamespace(site.namespace)); err != nil {
		return site.explain(err)
	}
	all, err := site.eventsOf(ctx, p, pointers(list.Items))
	if err != nil {
		return err
	}
	if !o.output.table() {
		printed, err := printedList(site, all)
		if err != nil {
			return err
		}
		return o.output.print(s.Out, printed)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintf(s.Out, "There are no events of %s any more: the API server has deleted them. The results of its runs:\n  %s\n", p.Name, site.kubectl("bpa history "+p.Name, ""))
		return err
	}
	rows := [][]string{eventHead}
	for _, e := range all {
		rows = append(rows, eventRow(e))
	}
	_, err = fmt.Fprint(s.Out, columns(rows))
	return err
}

// watchEvents prints the events and goes on with new ones until p is deleted.
func (s *session) watchEvents(ctx context.Context, site *site, p *v1alpha1.Provisioning, o *eventsOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch, err := watchAll(ctx, []client.Object{&corev1.Event{}, &v1alpha1.Provisioning{}}, []*selection{
		{client: site.client, options: []client.ListOption{client.InNamespace(site.namespace)}, list: func() client.ObjectList { return &corev1.EventList{} }},
		{client: site.client, options: []client.ListOption{
			client.InNamespace(site.namespace), client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(metav1.ObjectNameField, p.Name)},
		}, list: func() client.ObjectList { return &v1alpha1.ProvisioningList{} }},
	})
	if err != nil {
		return err
	}
	printed := map[types.UID]string{} // the version of an event that is printed: an event that happens again has another one
	show := s.eventPrinter(site, o)
	for {
		if objects, known := watch.objects(); known {
			var now *v1alpha1.Provisioning
			var all []*corev1.Event
			for _, o := range objects {
				switch o := o.(type) {
				case *v1alpha1.Provisioning:
					now = o
				case *corev1.Event:
					if printed[o.UID] != o.ResourceVersion {
						all = append(all, o)
					}
				}
			}
			if all, err = site.eventsOf(ctx, cmp.Or(now, p), all); err != nil {
				return err
			}
			for _, e := range all {
				printed[e.UID] = e.ResourceVersion
				if err := show(e); err != nil {
					return err
				}
			}
			if now == nil || now.UID != p.UID {
				return fmt.Errorf("provisioning %s was deleted", p.Name)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-watch.failed:
			return site.explain(err)
		case <-watch.changed:
		}
	}
}

// eventPrinter returns a function that prints one event after the other. The columns of the table have a width that fits most events.
func (s *session) eventPrinter(site *site, o *eventsOptions) func(*corev1.Event) error {
	if !o.output.table() {
		return func(e *corev1.Event) error {
			u, err := site.printed(e)
			if err != nil {
				return err
			}
			return o.output.print(s.Out, u)
		}
	}
	row := func(cells []string) error {
		_, err := fmt.Fprintf(s.Out, "%-20s  %-7s  %-20s  %-36s  %s\n", cells[0], cells[1], cells[2], cells[3], cells[4])
		return err
	}
	begun := false
	return func(e *corev1.Event) error {
		if !begun {
			begun = true
			if err := row(eventHead); err != nil {
				return err
			}
		}
		return row(eventRow(e))
	}
}

// eventsOf returns those of the events that are about p, its Backups, Softwares, runs and hosts, the oldest first.
func (s *site) eventsOf(ctx context.Context, p *v1alpha1.Provisioning, all []*corev1.Event) ([]*corev1.Event, error) {
	if len(all) == 0 {
		return nil, nil
	}
	about, err := s.subjects(ctx, p)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e *corev1.Event) bool { return !about(e.InvolvedObject) })
	slices.SortFunc(all, func(a, b *corev1.Event) int {
		return cmp.Or(eventTime(a).Compare(eventTime(b)), strings.Compare(a.Name, b.Name))
	})
	return all, nil
}

// subjects returns a function that reports whether an object belongs to p. Runs, tasks and pods count by their names, because events
// last longer than some of these objects.
func (s *site) subjects(ctx context.Context, p *v1alpha1.Provisioning) (func(corev1.ObjectReference) bool, error) {
	var backups v1alpha1.BackupList
	if err := s.client.List(ctx, &backups, client.InNamespace(s.namespace)); err != nil {
		return nil, s.explain(err)
	}
	softwares, err := s.softwareOf(ctx, p)
	if err != nil && !errors.Is(err, errNoSoftwareKind) {
		return nil, err
	}
	var operations, names []string
	for _, o := range contract.Operations {
		operations = append(operations, o.Name)
	}
	runs := []string{regexp.QuoteMeta(p.Name) + "-(" + strings.Join(operations, "|") + ")-[0-9]+"}
	add := func(group, kind, name string) {
		names = append(names, subject(schema.GroupKind{Group: group, Kind: kind}, name))
	}
	bpa := v1alpha1.SchemeGroupVersion.Group
	add(bpa, "Provisioning", p.Name)
	for _, b := range backups.Items {
		if b.Spec.Provisioning == p.Name {
			add(bpa, "Backup", b.Name)
			runs = append(runs, regexp.QuoteMeta(b.Name)+"-"+contract.OperationBackup)
		}
	}
	for _, w := range softwares {
		add(bpa, "Software", w.Name)
	}
	for _, n := range p.Status.Nodes {
		add(metal3.GroupVersion.Group, "BareMetalHost", n.Host)
	}
	ofRun := regexp.MustCompile("^(" + strings.Join(runs, "|") + ")(-|$)")
	return func(o corev1.ObjectReference) bool {
		switch o.Kind {
		case "PipelineRun", "TaskRun", "Pod":
			return ofRun.MatchString(o.Name)
		}
		return slices.Contains(names, subject(o.GroupVersionKind().GroupKind(), o.Name))
	}, nil
}

func subject(kind schema.GroupKind, name string) string { return kind.String() + "/" + name }

var eventHead = []string{"TIME", "TYPE", "REASON", "OBJECT", "MESSAGE"}

func eventRow(e *corev1.Event) []string {
	message := clean(e.Message)
	count := max(e.Count, 1)
	if e.Series != nil {
		count = e.Series.Count
	}
	if count > 1 {
		message += fmt.Sprintf(" (%d times", count)
		if !e.FirstTimestamp.IsZero() {
			message += " since " + e.FirstTimestamp.UTC().Format(time.RFC3339)
		}
		message += ")"
	}
	return []string{eventTime(e).UTC().Format(time.RFC3339), clean(e.Type), clean(e.Reason), clean(e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name), message}
}

// eventTime returns when an event was last seen. Which field has it depends on the library of the program that has made the event.
func eventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	case !e.FirstTimestamp.IsZero():
		return e.FirstTimestamp.Time
	}
	return e.CreationTimestamp.Time
}
