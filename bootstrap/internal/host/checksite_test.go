package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

func TestHiddenRoutes(t *testing.T) {
	const routes = `[{"dst":"default","gateway":"192.0.2.1","dev":"eth0"},{"dst":"10.60.0.0/24","dev":"bpa0"},
{"dst":"10.61.4.0/22","dev":"eth1"},{"dst":"10.60.0.77","dev":"eth2"},{"dst":"192.0.2.0/24","dev":"eth0"}]`
	found, err := hiddenRoutes([]byte(routes), layout.DefaultNetwork())
	text := errors.Join(found...).Error()
	if err != nil || len(found) != 2 || !strings.Contains(text, "services (10.61.0.0/16) would hide what this machine reaches by its route to 10.61.4.0/22 at eth1") || !strings.Contains(text, "10.60.0.77/32 at eth2") {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := hiddenRoutes([]byte("x"), layout.DefaultNetwork()); err == nil {
		t.Error("no error about text that is no JSON")
	}
}

// The order of the rules decides nothing that a test of the texts could see: TestNetworksAreKeptApart tries them.
func TestRulesetsDiffer(t *testing.T) {
	_, one := ruleset(layout.DefaultNetwork())
	other := layout.DefaultNetwork()
	other.ServeAPI, other.Site.Interface = true, "eno1"
	if _, two := ruleset(other); one == two || !strings.HasPrefix(one, "version_") {
		t.Errorf("versions %s and %s", one, two)
	}
}
