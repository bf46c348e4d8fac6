//go:build integration

package integration

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/hosts/stuck"
)

const stuckNamespace = "ironic-stuck"

// TestIronicNamesStuckServers enrolls servers that the real Metal3 and Ironic cannot use, and compares what kubectl bpa hosts says of them.
func TestIronicNamesStuckServers(t *testing.T) {
	metal3Program := buildMetal3(t)
	ctx, stop := context.WithTimeout(t.Context(), ironicLimit)
	defer stop()
	c, err := accountClient(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	site := newIronicSite(t, "silent")
	must(t, "", "create", "namespace", stuckNamespace)
	startMetal3(t, ctx, metal3Program, stuckNamespace, site.metal3Environment(t))
	checkStuck(t, ctx, c, enrollStuck(t, ctx, c, site))
}

// enrollStuck enrolls servers that the real Metal3 and Ironic cannot use. It returns by name what kubectl bpa hosts must say of each.
func enrollStuck(t *testing.T, ctx context.Context, c client.Client, site *ironicSite) map[string]string {
	t.Helper()
	refuses := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
	const system = "/redfish/v1/Systems/1"
	bmcs := map[string]string{
		"off":       "redfish+http://" + net.JoinHostPort(rackAddress, anyPort(t)) + system,
		"login":     "redfish+" + bmcAt(t, httptest.NewUnstartedServer(refuses), (*httptest.Server).Start) + system,
		"untrusted": "redfish+" + bmcAt(t, httptest.NewUnstartedServer(refuses), (*httptest.Server).StartTLS) + system,
		"path":      "redfish+" + site.rack.bmcs + "/redfish/v1/Systems/none",
		"odd":       "telnet://" + rackAddress,
		"silent":    site.rack.bmcAddress(site.rack.machines["silent"]),
	}
	n := 100
	for name, bmc := range bmcs {
		n++
		mac := fmt.Sprintf("02:63:00:00:01:%02x", n)
		if m := site.rack.machines[name]; m != nil {
			m.silent, mac = true, m.mac
		}
		enroll(t, ctx, c, stuckNamespace, n, name, mac, bmc)
	}
	inspected := &metal3.BareMetalHost{}
	inspected.Namespace, inspected.Name = stuckNamespace, "silent"
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec": {"inspectionMode": "agent"}}`))
	if err := c.Patch(ctx, inspected, patch); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"off": "its BMC does not answer", "login": "its BMC refuses the login", "untrusted": "Ironic does not trust the certificate of its BMC",
		"path": "its BMC does not know what the address names", "odd": "the address of its BMC is none that Metal3 knows",
		"silent": "its ramdisk did not call back during the inspection",
	}
}

// bmcAt starts a server at the address of the rack, and returns its URL.
func bmcAt(t *testing.T, s *httptest.Server, start func(*httptest.Server)) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(rackAddress, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s.Listener.Close()
	s.Listener = listener
	start(s)
	t.Cleanup(s.Close)
	return s.URL
}

// checkStuck waits until the reason of each server is known.
func checkStuck(t *testing.T, ctx context.Context, c client.Client, want map[string]string) {
	t.Helper()
	for name, why := range want {
		var host metal3.BareMetalHost
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%s: %s, %s: %s", name, host.Status.Provisioning.State, host.Status.ErrorType, host.Status.ErrorMessage)
			}
		})
		within(t, 8*time.Minute, fmt.Sprintf("%s is stuck because %s", name, why), func() bool {
			if err := c.Get(ctx, client.ObjectKey{Namespace: stuckNamespace, Name: name}, &host); err != nil {
				t.Fatal(err)
			}
			r := stuck.Of(&host, time.Now())
			return r != nil && strings.HasPrefix(r.Why, why)
		})
		t.Logf("%s: %s (%s: %s)", name, why, host.Status.ErrorType, host.Status.ErrorMessage)
	}
}
