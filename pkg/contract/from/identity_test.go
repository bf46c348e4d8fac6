package from

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// A Provisioning with a new UID is the same cluster for its machines and Backups.
func TestTheIdentityOfAClusterSurvivesANewUID(t *testing.T) {
	p := &v1alpha1.Provisioning{}
	p.Namespace, p.Name, p.UID = "a", "edge", "new"
	for recorded, want := range map[string]string{"": "new", "first": "first"} {
		p.Status.ClusterUID = recorded
		r, err := Provisioning(p, settings.Depot{})
		if err != nil || r.User().String() != "a/edge "+want {
			t.Errorf("%q: the user of the request is %q, %v", recorded, r.User(), err)
		}
	}
}
