package prerequisites

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	logtesting "knative.dev/pkg/logging/testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/client/clientset/versioned/fake"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
)

// server is a fake API server. kinds holds the names of the resources that it serves, by group and
// version.
type server struct {
	sync.Mutex
	kinds map[string][]string
	err   error
}

func (s *server) ServerResourcesForGroupVersion(gv string) (*metav1.APIResourceList, error) {
	s.Lock()
	defer s.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	names, ok := s.kinds[gv]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, gv)
	}
	list := &metav1.APIResourceList{}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
	}
	return list, nil
}

func (s *server) set(kinds map[string][]string, err error) {
	s.Lock()
	defer s.Unlock()
	s.kinds, s.err = kinds, err
}

func complete() map[string][]string {
	kinds := map[string][]string{}
	for _, need := range Needs {
		kinds[need.GroupVersion] = need.Resources
	}
	return kinds
}

func TestMessage(t *testing.T) {
	kinds := complete()
	delete(kinds, "metal3.io/v1alpha1")
	kinds["tekton.dev/v1"] = []string{"tasks", "pipelines", "pipelineruns"}
	missing, err := Missing(&server{kinds: kinds}, Needs)
	if err != nil {
		t.Fatal(err)
	}
	message := Message(missing)
	for _, want := range []string{"tekton.dev/v1 (taskruns) is missing: install Tekton", "apply BPA's config/ again", "metal3.io/v1alpha1 (baremetalhosts) is missing: install Metal3"} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q does not say %q", message, want)
		}
	}
	if strings.Contains(message, "pipelineruns") {
		t.Errorf("message %q names what is there", message)
	}
}

// TestWait checks that Wait reports the missing kinds, survives an API server that does not answer,
// and returns when all kinds exist.
func TestWait(t *testing.T) {
	api := &server{err: errors.New("connection refused")}
	changes, reported := make(chan struct{}), make(chan string, 1)
	done := make(chan error, 1)
	go func() {
		done <- Wait(t.Context(), logtesting.TestLogger(t), Cluster{Discovery: api, Changes: changes, Report: func(_ context.Context, m string) error {
			reported <- m
			return errors.New("a status that cannot be written is no reason to stop")
		}})
	}()
	changes <- struct{}{} // Wait reads this value after its first check, which got no answer from the API server
	api.set(map[string][]string{}, nil)
	changes <- struct{}{}
	if m := <-reported; !strings.Contains(m, "Tekton") {
		t.Errorf("reported %q", m)
	}
	api.set(complete(), nil)
	changes <- struct{}{}
	for {
		select {
		case m := <-reported: // a message of the check between the two changes
			_ = m
			continue
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		}
		return
	}
}

func TestWaitEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := Wait(ctx, logtesting.TestLogger(t), Cluster{Discovery: &server{}, Report: func(context.Context, string) error { return nil }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

// TestReport checks that report writes the message into every Provisioning, and does not write to
// a Provisioning that has the message already.
func TestReport(t *testing.T) {
	p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "edge-1"}}
	client := fake.NewSimpleClientset(p)
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := indexer.Add(p); err != nil {
		t.Fatal(err)
	}
	lister := listers.NewProvisioningLister(indexer)
	if err := report(t.Context(), lister, client, "install Tekton"); err != nil {
		t.Fatal(err)
	}
	stored, err := client.BpaV1alpha1().Provisionings("site").Get(t.Context(), "edge-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ready := stored.Status.GetCondition(v1alpha1.ConditionReady)
	if !ready.IsUnknown() || ready.Reason != Reason || ready.Message != "install Tekton" {
		t.Errorf("Ready is %+v", ready)
	}
	if err := indexer.Update(stored); err != nil {
		t.Fatal(err)
	}
	client.ClearActions()
	if err := report(t.Context(), lister, client, "install Tekton"); err != nil {
		t.Fatal(err)
	}
	if n := len(client.Actions()); n != 0 {
		t.Errorf("%d calls to write the same message again", n)
	}
}
