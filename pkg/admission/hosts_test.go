package admission

import (
	"context"
	"strings"
	"testing"

	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// TestHostNamespaceIsFixed: the namespace of the hosts never changes, also before an installation. To write the
// default is no change.
func TestHostNamespaceIsFixed(t *testing.T) {
	in := func(pool string) *v1alpha1.Provisioning {
		p := provisioning(t, "masters: [{m-1: {cpu: 8}}]")
		p.Namespace, p.Spec.HostNamespace = "tenant-a", pool
		return p
	}
	for _, row := range []struct{ before, after, want string }{
		{"", "rack-7", `it cannot be changed from "tenant-a" to "rack-7"`}, {"rack-7", "", `it cannot be changed from "rack-7" to "tenant-a"`},
		{"rack-7", "rack-8", "to use hosts of another namespace, create another Provisioning"}, {"", "tenant-a", ""}, {"rack-7", "rack-7", ""},
	} {
		old, p := in(row.before), in(row.after)
		p.Spec.Paused = true
		errs, _ := findings(apis.WithinUpdate(context.Background(), old), p)
		if (errs == "") != (row.want == "") || !strings.Contains(errs, row.want) {
			t.Errorf("from %q to %q: %q, want %q", row.before, row.after, errs, row.want)
		}
	}
	if errs, _ := findings(context.Background(), in("Rack 7")); !strings.Contains(errs, `"Rack 7" is not the name of a namespace`) {
		t.Errorf("an invalid name: %q", errs)
	}
}
