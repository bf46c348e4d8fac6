package assign

import (
	"errors"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// usedBy marks a host as used by a Provisioning with this name and UID.
func usedBy(name, uid string) func(*hosts.Host) {
	return func(h *hosts.Host) { h.UsedBy = contract.User{Namespace: "site", Name: name, UID: uid} }
}

// TestUsedHosts checks that a host on which a cluster was installed goes only to the Provisioning of
// this cluster, until the host gets another operating system.
func TestUsedHosts(t *testing.T) {
	image := &contract.OSImage{URL: namedImage}
	for _, tc := range []struct {
		name  string
		uid   string
		image *contract.OSImage
		all   []hosts.Host
		want  string // empty: no assignment
	}{
		{"another Provisioning", "u1", nil, []hosts.Host{host(1, 1, 1, usedBy("edge-2", "u2")), host(2, 8, 8)}, "a=2"},
		{"its own cluster", "u1", nil, []hosts.Host{host(1, 1, 1, usedBy("edge-1", "u1")), host(2, 8, 8)}, "a=1"},
		{"its own cluster under a former name of the namespace", "u1", nil, []hosts.Host{host(1, 1, 1, usedBy("other", "u1"))}, "a=1"},
		{"a Provisioning of the same name was deleted", "u1", nil, []hosts.Host{host(1, 1, 1, usedBy("edge-1", "u0"))}, ""},
		{"it was deleted by force, and its host is still held", "u1", nil, []hosts.Host{host(1, 1, 1, heldBy(me.Name, "a"), usedBy("edge-1", "u0")), host(2, 8, 8)}, "a=2"},
		{"a mark without a UID", "u1", nil, []hosts.Host{host(1, 1, 1, usedBy("edge-1", ""))}, ""},
		{"a dry run for a file has no UID", "", nil, []hosts.Host{host(1, 1, 1, usedBy("edge-1", ""))}, ""},
		{"an image will be written", "u1", image, []hosts.Host{host(1, 1, 1, isBare, usedBy("edge-2", "u2"))}, "a=1"},
		{"without an image it is not", "u1", nil, []hosts.Host{host(1, 1, 1, isBare, usedBy("edge-2", "u2"))}, ""},
		{"a system that is installed already is not written again", "u1", image, []hosts.Host{host(1, 1, 1, runs(namedImage), usedBy("edge-2", "u2"))}, ""},
		{"an installed node stays", "u1", nil, []hosts.Host{host(1, 1, 1, heldBy(me.Name, "a"), isInstalled, usedBy("edge-1", "u0")), host(2, 1, 1)}, "a=1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			request := ask(slot("a", 1, 1))
			request.UID, request.OSImage = tc.uid, tc.image
			if tc.want != "" {
				same(t, tc.want, assigned(t, request, tc.all))
				return
			}
			var nofit *NoFit
			if found, err := Assign(request, tc.all); !errors.As(err, &nofit) {
				t.Errorf("Assign = %v, %v, want no assignment", found, err)
			}
		})
	}
}

func isInstalled(h *hosts.Host) { h.Installed = true }

// TestUsedHostsAreExplained checks the explanation, and that it advises to reset only hosts that
// would help.
func TestUsedHostsAreExplained(t *testing.T) {
	request := ask(slot("a", 4, 4))
	request.UID = "u1"
	_, err := Assign(request, []hosts.Host{
		host(1, 8, 8, usedBy("edge-2", "u2")), host(2, 1, 1, usedBy("edge-2", "u2")), host(3, 8, 8, usedBy("edge-2", "u2"), heldBy("edge-9", "b")), host(4, 1, 1),
	})
	var nofit *NoFit
	if !errors.As(err, &nofit) {
		t.Fatalf("Assign = %v, want a NoFit", err)
	}
	want := "a (4 CPUs, 4Gi): 4 hosts: 2 used by cluster site/edge-2, 1 below 4 CPUs, 1 held by others; " +
		"to use a host of another cluster, reset it: `kubectl bpa hosts reset host-1 -n site`"
	if err.Error() != want {
		t.Errorf("error\n%s\nwant\n%s", err, want)
	}
	if got, want := nofit.Unmet[0].Obstacles["host-1"], "used by cluster site/edge-2; remove it with `kubectl bpa hosts reset host-1 -n site`"; got != want {
		t.Errorf("obstacle of host-1 is %q, want %q", got, want)
	}
}

// TestBareHostWithOwnMark checks that the advice for a host without an operating system is to remove
// its mark: `kubectl bpa hosts reset` refuses such a host.
func TestBareHostWithOwnMark(t *testing.T) {
	request := ask(slot("a", 4, 4))
	request.UID, request.OSImage = "u1", &contract.OSImage{URL: namedImage}
	_, err := Assign(request, []hosts.Host{host(1, 8, 8, isBare, usedBy("edge-1", "u1"))})
	var nofit *NoFit
	if !errors.As(err, &nofit) {
		t.Fatalf("Assign = %v, want a NoFit", err)
	}
	const command = "`kubectl annotate bmh host-1 -n site bpa.akraino.org/used-by-`"
	if got := err.Error(); !strings.HasSuffix(got, "remove the mark: "+command) || strings.Contains(got, "hosts reset") {
		t.Errorf("error %s", got)
	}
	if got, want := nofit.Unmet[0].Obstacles["host-1"], "used by cluster site/edge-1; remove the mark with "+command; got != want {
		t.Errorf("obstacle is %q, want %q", got, want)
	}
}

// TestResetAdviceIsNeverCut checks that a long explanation still ends with a complete command.
func TestResetAdviceIsNeverCut(t *testing.T) {
	request := ask()
	request.UID = "u1"
	var all []hosts.Host
	for n := range 40 {
		h := host(n+1, 8, 8, usedBy(strings.Repeat("x", 60)+string(rune('a'+n%20)), "u2"))
		h.Name = strings.Repeat("h", 60) + h.Name[4:]
		all = append(all, h)
		request.Slots = append(request.Slots, slot(strings.Repeat("n", 50)+h.Name[60:], n%7, 1))
	}
	_, err := Assign(request, all)
	if err == nil || len(err.Error()) > mostText || !strings.HasSuffix(err.Error(), " -n site`") {
		t.Errorf("the explanation has %d bytes: %v", len(err.Error()), err)
	}
}
