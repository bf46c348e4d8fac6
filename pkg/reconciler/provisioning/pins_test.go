package provisioning

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
)

// TestRetryPinsMissingHostKeys: after a user has deleted the line of a member, a requested run pins its key again,
// also that of a member which no other run contacts. If no key is missing, there is no such run.
func TestRetryPinsMissingHostKeys(t *testing.T) {
	const check = "edge-1-remove-nodes-2"
	retry := func(p *v1alpha1.Provisioning) { p.Annotations = map[string]string{contract.AnnotationRetry: "now"} }
	hostKey, _ := sshtest.NewKey(t)
	for missing, want := range map[string]bool{"workers-2": true, "workers-3": false /* a standby */, "": false} {
		site, nodes := fleet()
		var pins ssh.Pins
		for _, n := range nodes {
			if n.Name != missing {
				pins = append(pins, ssh.Pin{UID: n.HostUID, Host: n.Host, At: n.Address + ":22", Key: hostKey.PublicKey()})
			}
		}
		w := installedEdge(t, site, nodes, retry)
		w.add(t, written(contract.KnownHostsName(name), contract.KeyKnownHosts, pins.String()), true)
		w.settle(t)
		if got := w.runNamed(t, check) != nil; got != want {
			t.Errorf("the key of %q is missing: the run that pins it starts: %t, want %t", missing, got, want)
		}
	}
}
