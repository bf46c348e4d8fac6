package assign

import (
	"errors"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/hosts"
)

// TestPassedOver checks that a host that failed before is not chosen again, not even if it is still
// held. A node that is installed on it stays there.
func TestPassedOver(t *testing.T) {
	installed := func(h *hosts.Host) { h.Installed = true }
	request := ask(slot("a", 2, 2))
	request.PassedOver = []string{host(1, 2, 2).Name}
	same(t, "a=2", assigned(t, request, []hosts.Host{host(1, 2, 2), host(2, 8, 8)}))
	same(t, "a=2", assigned(t, request, []hosts.Host{host(1, 2, 2, heldBy(me.Name, "")), host(2, 8, 8)}))
	same(t, "a=1", assigned(t, request, []hosts.Host{host(1, 2, 2, heldBy(me.Name, "a"), installed), host(2, 8, 8)}))
	unreset := ask(slot("a", 2, 2))
	unreset.Unreset = request.PassedOver
	same(t, "a=2", assigned(t, unreset, []hosts.Host{host(1, 2, 2, heldBy(me.Name, "a")), host(2, 8, 8)}))
	_, err := Assign(request, []hosts.Host{host(1, 2, 2)})
	var none *NoFit
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "1 host: 1 passed over because it failed before, or because its node is lost (a new value of the annotation bpa.akraino.org/retry allows it again)") {
		t.Errorf("Assign: %v", err)
	}
}
