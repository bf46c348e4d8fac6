package assign

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

func runs(image string) func(*hosts.Host) { return func(h *hosts.Host) { h.Image = image } }

// TestNamedImageComesFirst checks a request with an OS image. A node gets a host with that image,
// or a host on which Metal3 can install it. It gets a host with another system only if no other
// host is sufficient.
func TestNamedImageComesFirst(t *testing.T) {
	const wanted = namedImage
	for _, tc := range []struct {
		name  string
		image *contract.OSImage
		all   []hosts.Host
		want  string
	}{
		{"the image is on it", &contract.OSImage{URL: wanted}, []hosts.Host{host(1, 2, 2, isBare), host(2, 2, 2, runs(wanted))}, "a=2"},
		{"a small host without a system before a big one with the image", &contract.OSImage{URL: wanted}, []hosts.Host{host(1, 8, 8, runs(wanted)), host(2, 2, 2, isBare)}, "a=2"},
		{"no system before another image", &contract.OSImage{URL: wanted}, []hosts.Host{host(1, 2, 2, runs("http://site/other.qcow2")), host(2, 64, 64, sriov, isBare)}, "a=2"},
		{"no system before an unknown one", &contract.OSImage{URL: wanted}, []hosts.Host{host(1, 2, 2), host(2, 8, 8, isBare)}, "a=2"},
		{"another image if there is no other host", &contract.OSImage{URL: wanted}, []hosts.Host{host(1, 2, 2, runs("http://site/other.qcow2")), host(2, 1, 1, isBare)}, "a=1"},
		{"another image before powered off", &contract.OSImage{URL: wanted}, []hosts.Host{host(1, 2, 2, runs(wanted), isOff), host(2, 2, 2)}, "a=2"},
		{"any system will do without an image", nil, []hosts.Host{host(1, 8, 8, runs(wanted)), host(2, 2, 2, runs("http://site/other.qcow2"))}, "a=2"},
		{"a claimed host stays", &contract.OSImage{URL: wanted}, []hosts.Host{host(1, 8, 8, heldBy(me.Name, "a")), host(2, 2, 2, runs(wanted))}, "a=1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			request := ask(slot("a", 2, 2))
			request.OSImage = tc.image
			same(t, tc.want, assigned(t, request, tc.all))
		})
	}
}
