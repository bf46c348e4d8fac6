package provisioning

import (
	"fmt"
	"testing"

	"k8s.io/client-go/tools/cache"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	logtesting "knative.dev/pkg/logging/testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// counted counts the objects that a cache returns in lists.
type counted struct {
	cache.Indexer
	objects int
}

func (c *counted) count(all []any, err error) ([]any, error) {
	c.objects += len(all)
	return all, err
}

func (c *counted) Index(name string, o any) ([]any, error) { return c.count(c.Indexer.Index(name, o)) }
func (c *counted) ByIndex(name, value string) ([]any, error) {
	return c.count(c.Indexer.ByIndex(name, value))
}
func (c *counted) List() []any { all, _ := c.count(c.Indexer.List(), nil); return all }

// TestVisitReadsNoOtherClusters: what a visit reads does not grow with the Softwares and the Provisionings of other
// clusters, and it reads the own ones.
func TestVisitReadsNoOtherClusters(t *testing.T) {
	visit := func(others int, own bool) int {
		t.Helper()
		w := installedCluster(t)
		if own {
			w.add(t, tools(), true)
		}
		for n := range others {
			other := fmt.Sprintf("other-%d", n)
			w.add(t, edge(func(p *v1alpha1.Provisioning) {
				p.Name, p.Labels, p.UID = other, map[string]string{v1alpha1.LabelCluster: other}, "uid-of-other"
			}), true)
			w.add(t, tools(func(s *v1alpha1.Software) { s.Name, s.Spec.Cluster = "tools-of-"+other, other }), true)
		}
		provisionings, softwares := &counted{Indexer: w.caches["provisioning"]}, &counted{Indexer: w.caches["software"]}
		w.caches["provisioning"], w.caches["software"] = provisionings, softwares
		visitor := w.reconciler(t)
		provisionings.objects, softwares.objects = 0, 0 // a new leader reads all
		ctx := logging.WithLogger(t.Context(), logtesting.TestLogger(t))
		if err := visitor.Reconcile(ctx, at); err != nil {
			if again, _ := controller.IsRequeueKey(err); !again { // when the kubeconfig expires
				t.Fatal(err)
			}
		}
		return provisionings.objects + softwares.objects
	}
	if few, many := visit(2, true), visit(40, true); many != few || few == 0 {
		t.Errorf("a visit reads %d Softwares and Provisionings beside 2 other clusters, and %d beside 40", few, many)
	}
	if none := visit(40, false); none != 0 {
		t.Errorf("a visit of a cluster without Softwares reads %d objects", none)
	}
}
