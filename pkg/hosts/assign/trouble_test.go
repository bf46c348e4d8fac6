package assign

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

func isOff(h *hosts.Host) { h.Trouble = "powered off" }

func notInstalled(h *hosts.Host) { h.Installed = false }

// TestHostsInTroubleComeLast checks that a host that is powered off or being serviced is chosen
// only if no other host is sufficient.
func TestHostsInTroubleComeLast(t *testing.T) {
	pair := []contract.Set{nodeSet("w", 1, 1)}
	for _, tc := range []struct {
		name  string
		slots []contract.Slot
		sets  []contract.Set
		all   []hosts.Host
		want  string
	}{
		{"a host that is on is preferred, though it is big and special", []contract.Slot{slot("a", 1, 1)}, nil,
			[]hosts.Host{host(1, 1, 1, isOff), host(2, 64, 64, sriov, qat)}, "a=2"},
		{"the host that is off is taken if there is no other", []contract.Slot{slot("a", 1, 1)}, nil, []hosts.Host{host(1, 1, 1, isOff)}, "a=1"},
		{"as few hosts that are off as it goes", []contract.Slot{slot("a", 1, 1), slot("b", 8, 8)}, nil,
			[]hosts.Host{host(1, 1, 1, isOff), host(2, 8, 8), host(3, 8, 8, isOff), host(4, 64, 64)}, "a=2 b=4"},
		{"a pin is a pin", []contract.Slot{pinned("a", 1)}, nil, []hosts.Host{host(1, 1, 1, isOff), host(2, 1, 1)}, "a=1"},
		{"a claimed host that is off is replaced", []contract.Slot{slot("a", 1, 1)}, nil,
			[]hosts.Host{host(1, 1, 1, heldBy(me.Name, "a"), isOff), host(2, 64, 64)}, "a=2"},
		{"it stays if there is no other", []contract.Slot{slot("a", 1, 1), slot("b", 1, 1)}, nil,
			[]hosts.Host{host(1, 1, 1, isOff), host(2, 64, 64, heldBy(me.Name, "b"), isOff), host(3, 1, 1)}, "a=3 b=2"},
		{"each in its place", []contract.Slot{slot("a", 1, 1), slot("b", 2, 2)}, nil,
			[]hosts.Host{host(1, 8, 8, heldBy(me.Name, "b"), isOff), host(2, 64, 64, heldBy(me.Name, "a"), isOff)}, "a=2 b=1"},
		{"an installed host stays", nil, []contract.Set{nodeSet("w", 1, 0)}, []hosts.Host{host(1, 1, 1, running("w", 1), isOff), host(2, 1, 1)}, "w-1=1"},
		{"a standby that is off is replaced", nil, pair, []hosts.Host{host(1, 1, 1, running("w", 1)), host(2, 1, 1, standing("w", 2), isOff), host(3, 1, 1)},
			"w-1=1 (w-3=3)"},
		{"the host that is off stands by", nil, pair, []hosts.Host{host(1, 1, 1, isOff), host(2, 8, 8)}, "w-1=2 (w-2=1)"},
		{"a new host is active before a standby that is off", nil, pair,
			[]hosts.Host{host(1, 1, 1, running("w", 1), isLost), host(2, 1, 1, standing("w", 2), isOff), host(3, 1, 1)}, "w-3=3 (w-2=2)"},
		{"a claimed active host that is off needs no second standby", nil, pair, []hosts.Host{host(1, 1, 1, running("w", 1), notInstalled, isOff)}, "w-1=1"},
		{"the one that is off leaves a set that shrinks", nil, []contract.Set{nodeSet("w", 1, 0)},
			[]hosts.Host{host(1, 1, 1, running("w", 1), notInstalled, isOff), host(2, 1, 1, running("w", 2), notInstalled)}, "w-2=2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			request := ask(tc.slots...)
			request.Sets = tc.sets
			same(t, tc.want, assigned(t, request, tc.all))
		})
	}
}
