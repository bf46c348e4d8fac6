package stuck

import (
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Date(2026, 11, 29, 3, 0, 0, 0, time.UTC)

// The messages are those of baremetal-operator 0.13.1, Ironic 39.0.0 and sushy 5.8.
func TestErrors(t *testing.T) {
	const register, inspect, prepare, provision, power = metal3.RegistrationError, metal3.InspectionError, metal3.PreparationError, metal3.ProvisioningError, metal3.PowerManagementError
	for name, tc := range map[string]struct {
		kind         metal3.ErrorType
		message, why string // of the reason; empty: there is none
	}{
		"no Secret":            {register, "BMC CredentialsName secret doesn't exist The BMC secret metal/bmc-1 does not exist", "there is no Secret"},
		"no password":          {register, "Missing BMC connection detail 'password' in credentials", "is incomplete"},
		"no address":           {register, "Empty BMC address Missing BMC connection detail 'Address'", "the address of its BMC"},
		"odd address":          {register, "Unknown BMC type 'telnet' for address telnet://10.0.0.5", "the address of its BMC"},
		"same MAC":             {register, "MAC address 00:c6:14:04:61:b2 conflicts with existing node site~host-2", "another host has its boot MAC address"},
		"no MAC":               {register, "BMC driver ipmi requires a BootMACAddress value", "boot MAC address is not known"},
		"no link":              {register, "BMC driver ipmi requires a provisioning network", "needs a provisioning network"},
		"no secure boot":       {register, "BMC driver ipmi does not support secure boot", "secure boot"},
		"certificate":          {register, "Failed to get power state for node 1f. Error: Redfish connection failed for node 1f: Unable to connect to https://10.0.0.5/redfish/v1/. Error: HTTPSConnectionPool(host='10.0.0.5', port=443): Max retries exceeded with url: /redfish/v1/ (Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)')))", "does not trust"},
		"login":                {register, "Failed to get power state for node 1f. Error: Redfish exception occurred. Error: HTTP GET https://10.0.0.5/redfish/v1/Systems/1 returned code 401. Base.1.8.GeneralError: While accessing the resource, the service received an authorization error unauthorized. Extended information: None", "refuses the login"},
		"login by IPMI":        {register, "Failed to get power state for node 1f. Error: IPMI call failed: power status. Error: Unable to establish IPMI v2 / RMCP+ session", "refuses the login"},
		"path":                 {register, "Failed to get power state for node 1f. Error: HTTP GET https://10.0.0.5/redfish/v1/Systems/9 returned code 404. unknown error Extended information: None", "does not know what the address names"},
		"off":                  {register, "Failed to get power state for node 1f. Error: Redfish connection failed for node 1f: Unable to connect to https://10.0.0.5/redfish/v1/. Error: HTTPSConnectionPool(host='10.0.0.5', port=443): Max retries exceeded (Caused by NewConnectionError('Failed to establish a new connection: [Errno 111] Connection refused'))", "does not answer"},
		"off later":            {provision, "Image provisioning failed: Deploy step deploy.deploy failed: Unable to connect to https://10.0.0.5/redfish/v1/", "does not answer"},
		"another registration": {register, "the BMC is on fire", "cannot use its BMC"},
		"ramdisk":              {inspect, "Timeout reached while inspecting the node. Please check if the ramdisk responsible for the inspection is running on the node.", "did not call back during the inspection"},
		"ramdisk, old Ironic":  {inspect, "timeout reached while inspecting the node", "did not call back during the inspection"},
		"another inspection":   {inspect, "Inspection failed", "its inspection failed"},
		"cleaning":             {prepare, "Timeout reached while cleaning the node. Please check if the ramdisk responsible for the cleaning is running on the node. Failed on step {}.", "during the cleaning of its disks"},
		"cleaning later":       {provision, "Cleaning failed: Timeout reached while cleaning the node. Please check if the ramdisk", "during the cleaning of its disks"},
		"RAID":                 {prepare, "RAID is not supported", "its preparation failed"},
		"deploy":               {provision, "Image provisioning failed: Timeout reached while waiting for callback for node 1f", "during the installation"},
		"boot mode":            {provision, "Image provisioning failed: Failed to install a bootloader: Unexpected error while running command. Command: efibootmgr -v. Stderr: EFI variables are not supported on this system.", "in another mode"},
		"an image":             {provision, "Image provisioning failed: Image failed to verify against checksum", ""}, // package imaging knows it
		"power":                {power, "Failed to set node power state to power on.", "does not switch its power"},
		"power, no answer":     {power, "Redfish connection failed for node 1f: Unable to connect to https://10.0.0.5", "does not answer"},
		"a type of tomorrow":   {"other error", "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			host := &metal3.BareMetalHost{}
			host.Status.ErrorType, host.Status.ErrorMessage = tc.kind, tc.message
			host.Status.Provisioning.State = metal3.StateInspecting
			host.Status.OperationHistory.Inspect.Start = metav1.NewTime(now.Add(-time.Hour)) // an error comes first
			expect(t, Of(host, now), tc.why)
		})
	}
}

func TestSlow(t *testing.T) {
	for name, tc := range map[string]struct {
		state  metal3.ProvisioningState
		since  time.Duration
		change func(*metal3.BareMetalHost)
		why    string
	}{
		"new":                 {metal3.StateNone, time.Minute, nil, ""},
		"no controller":       {metal3.StateNone, time.Hour, nil, "Metal3 has not looked at it (for 1h0m0s)"},
		"no BMC":              {metal3.StateUnmanaged, 0, nil, "knows no BMC"},
		"registering":         {metal3.StateRegistering, 4 * time.Minute, nil, ""},
		"registering long":    {metal3.StateRegistering, 6 * time.Minute, nil, "is not done with its BMC (for 6m0s)"},
		"inspecting":          {metal3.StateInspecting, 15 * time.Minute, nil, ""},
		"inspecting long":     {metal3.StateInspecting, 25 * time.Minute, nil, "its ramdisk did not call back during the inspection (for 25m0s)"},
		"installing long":     {metal3.StateProvisioning, time.Hour, nil, "the installation takes long"},
		"cleaning":            {metal3.StateDeprovisioning, 30 * time.Minute, nil, ""},
		"cleaning long":       {metal3.StateDeprovisioning, 2 * time.Hour, nil, "the cleaning of its disks takes long (for 2h0m0s)"},
		"no time is known":    {metal3.StateInspecting, -1, nil, ""},
		"available":           {metal3.StateAvailable, 9 * time.Hour, nil, ""},
		"provisioned":         {metal3.StateProvisioned, 9 * time.Hour, nil, ""},
		"paused":              {metal3.StateInspecting, time.Hour, func(h *metal3.BareMetalHost) { h.Annotations = map[string]string{metal3.PausedAnnotation: "bpa"} }, ""},
		"detached":            {metal3.StateInspecting, time.Hour, func(h *metal3.BareMetalHost) { h.Status.OperationalStatus = metal3.OperationalStatusDetached }, ""},
		"detached with error": {metal3.StateInspecting, 0, func(h *metal3.BareMetalHost) { h.Status.ErrorType = metal3.InspectionError }, "its inspection failed"},
		"being deleted":       {metal3.StateNone, time.Hour, func(h *metal3.BareMetalHost) { h.DeletionTimestamp = &metav1.Time{Time: now} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			host := &metal3.BareMetalHost{}
			host.Status.Provisioning.State = tc.state
			if tc.since >= 0 {
				at := metav1.NewTime(now.Add(-tc.since))
				host.CreationTimestamp = at
				h := &host.Status.OperationHistory
				h.Register.Start, h.Inspect.Start, h.Provision.Start, h.Deprovision.Start = at, at, at, at
			}
			if tc.change != nil {
				tc.change(host)
			}
			expect(t, Of(host, now), tc.why)
		})
	}
}

func expect(t *testing.T, got *Reason, why string) {
	t.Helper()
	switch {
	case got == nil && why == "":
	case got == nil:
		t.Errorf("no reason, want %q", why)
	case why == "":
		t.Errorf("%q, want none", got.Why)
	case !strings.Contains(got.Why, why) || !strings.Contains(".?`", got.Do[len(got.Do)-1:]):
		t.Errorf("%q: %q, want %q", got.Why, got.Do, why)
	}
}
