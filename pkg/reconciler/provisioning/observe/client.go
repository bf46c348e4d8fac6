package observe

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// Client is a Reader that asks the API server. Hosts are all hosts of the namespace of the Provisioning's hosts.
type Client struct {
	Client       client.Client
	Context      context.Context
	Provisioning *v1alpha1.Provisioning
	Hosts        []hosts.Host
}

// Work implements Reader, as the other methods do.
func (c Client) Work(seen *plan.Seen) error {
	with := []client.ListOption{client.InNamespace(c.Provisioning.Namespace), client.MatchingLabels{contract.LabelCluster: c.Provisioning.Name}}
	var runs tekton.PipelineRunList
	var tasks tekton.TaskRunList
	if err := c.Client.List(c.Context, &runs, with...); err != nil {
		return fmt.Errorf("list PipelineRuns: %w", err)
	}
	if err := c.Client.List(c.Context, &tasks, with...); err != nil {
		return fmt.Errorf("list TaskRuns: %w", err)
	}
	SortOut(c.Provisioning, Pointers(runs.Items), Pointers(tasks.Items), seen)
	return nil
}

func (c Client) get(name string) (*corev1.ConfigMap, error) {
	cm := &corev1.ConfigMap{}
	err := c.Client.Get(c.Context, client.ObjectKey{Namespace: c.Provisioning.Namespace, Name: name}, cm)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	return cm, nil
}

func (c Client) ConfigMap(name string) (*corev1.ConfigMap, error) {
	cm, err := c.get(name)
	if cm != nil && !metav1.IsControlledBy(cm, c.Provisioning) {
		return nil, nil
	}
	return cm, err
}

func (c Client) Record() (*corev1.ConfigMap, error) {
	return c.ConfigMap(contract.InstalledName(c.Provisioning.Name))
}

func (c Client) RequestOf(run *plan.Run) (*corev1.ConfigMap, error) {
	if run == nil || run.Request.UID == "" {
		return nil, nil
	}
	cm, err := c.get(run.Request.Name)
	if cm != nil && cm.UID != run.Request.UID {
		return nil, nil
	}
	return cm, err
}

func (c Client) Held() ([]hosts.Host, error) {
	return c.matching(OwnerOf(c.Provisioning).Holds), nil
}

func (c Client) Named(names []string) ([]hosts.Host, error) {
	return c.matching(func(h hosts.Host) bool { return slices.Contains(names, h.Name) }), nil
}

func (c Client) matching(is func(hosts.Host) bool) []hosts.Host {
	return slices.DeleteFunc(slices.Clone(c.Hosts), func(h hosts.Host) bool { return !is(h) })
}

func (c Client) Parse(_, _ string, _ reflect.Type, text string, read func(string) any) any {
	return read(text)
}
