package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestRolesOfPeople runs commands and compares their calls with the roles in config/: a viewer may
// read the history and the backups, and an editor may cancel, retry, pause, resume, patch and back up.
func TestRolesOfPeople(t *testing.T) {
	view, edit := rules(t, "bpa-view", "bpa-settings-view"), rules(t, "bpa-edit", "bpa-settings-view")
	for _, tt := range []struct {
		command string
		may     []rbacv1.PolicyRule
		needs   string // a call without which the test would prove nothing
	}{
		{"history", view, "list taskruns.tekton.dev"},
		{"events", view, "list events"},
		{"cancel", edit, "patch pipelineruns.tekton.dev"},
		{"retry", edit, "patch provisionings.bpa.akraino.org"},
		{"pause", edit, "get pipelineruns.tekton.dev"},
		{"resume", edit, "patch provisionings.bpa.akraino.org"},
		{"patch", edit, "patch provisionings.bpa.akraino.org"},
		{"backups", view, "list backups.bpa.akraino.org"},
		{"software", view, "list softwares.bpa.akraino.org"},
		{"backup", edit, "create backups.bpa.akraino.org"},
	} {
		t.Run(tt.command, func(t *testing.T) {
			p := hasCluster(provisioning("edge-1"))
			p.Spec.Paused = tt.command == "resume"
			run := runOf(p, contract.OperationInstall, 1)
			if isRunning(p, run); tt.command == "retry" {
				isCancelled(run)
			}
			w := newStopped(t, p, run)
			c := w.record()
			code := w.start(tt.command, "edge-1")
			if tt.command == "cancel" {
				for range 3 {
					w.awaitWatch()
				}
				set(w, run, endsWith("Cancelled", ""))
			}
			w.expect(<-code, codeDone)
			c.mu.Lock()
			defer c.mu.Unlock()
			if !slices.Contains(c.made, tt.needs) {
				t.Errorf("calls %q do not contain %q", c.made, tt.needs)
			}
			for _, call := range c.made {
				if !allowed(tt.may, call) {
					t.Errorf("the command makes the call %q, which the roles do not allow", call)
				}
			}
		})
	}
}

// TestEditorsMayReadWhatViewersMay: bpa-edit can be bound alone.
func TestEditorsMayReadWhatViewersMay(t *testing.T) {
	edit := rules(t, "bpa-edit")
	for _, rule := range rules(t, "bpa-view") {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if call := strings.TrimSuffix(verb+" "+resource+"."+rule.APIGroups[0], "."); !allowed(edit, call) {
					t.Errorf("bpa-view contains %q, and bpa-edit does not", call)
				}
			}
		}
	}
}

// calls has the calls of commands, such as "patch pipelineruns.tekton.dev".
type calls struct {
	mu   sync.Mutex // informers make calls at the same time
	made []string
}

func (c *calls) add(t *testing.T, verb string, o runtime.Object, scheme *runtime.Scheme) {
	kind, err := apiutil.GVKForObject(o, scheme)
	if err != nil {
		t.Error(err)
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, strings.TrimSuffix(fmt.Sprintf("%s %s.%s", verb, resource.Resource, resource.Group), "."))
}

// record makes the cluster record the calls of commands.
func (w *terminal) record() *calls {
	c, scheme := &calls{}, w.cluster.Scheme()
	w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
		Get: func(ctx context.Context, cluster client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			c.add(w.t, "get", o, scheme)
			return cluster.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, cluster client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			c.add(w.t, "list", list, scheme)
			return cluster.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, cluster client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			c.add(w.t, "create", o, scheme)
			return cluster.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, cluster client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			c.add(w.t, "patch", o, scheme)
			return cluster.Patch(ctx, o, patch, opts...)
		},
		Watch: func(ctx context.Context, cluster client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			c.add(w.t, "watch", list, scheme)
			return cluster.Watch(ctx, list, opts...)
		},
	})
	return c
}

// rules returns the rules of the roles with these names in config/201-people.yaml.
func rules(t *testing.T, names ...string) []rbacv1.PolicyRule {
	t.Helper()
	text, err := os.ReadFile("../../config/201-people.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []rbacv1.PolicyRule
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.Unmarshal(document, &role); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(role.Kind, "Role") && slices.Contains(names, role.Name) {
			all = append(all, role.Rules...)
		}
	}
	return all
}

func allowed(may []rbacv1.PolicyRule, call string) bool {
	verb, resource, _ := strings.Cut(call, " ")
	resource, group, _ := strings.Cut(resource, ".")
	return slices.ContainsFunc(may, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Verbs, verb) && slices.Contains(r.Resources, resource) && slices.Contains(r.APIGroups, group)
	})
}
