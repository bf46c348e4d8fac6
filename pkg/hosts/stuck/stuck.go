package stuck

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// Reason is why a server is stuck, in words that complete "host-1: ", and what its administrator can do, as a sentence.
type Reason struct {
	Why string `json:"why"`
	Do  string `json:"do"`
}

// Of returns why Metal3 does not get on with a server; nil: nothing is known to be wrong.
func Of(host *metal3.BareMetalHost, now time.Time) *Reason {
	switch {
	case !host.DeletionTimestamp.IsZero():
		return nil // another host may have its BMC by now
	case host.Status.ErrorMessage != "" || host.Status.ErrorType != "":
		return failed(host.Status.ErrorType, host.Status.ErrorMessage)
	case host.Status.OperationalStatus == metal3.OperationalStatusDetached, host.Annotations[metal3.PausedAnnotation] != "":
		return nil // an administrator wants it so
	}
	return slow(host, now)
}

// cause is one cause of errors of some types. said matches the message; nil: any.
type cause struct {
	types []metal3.ErrorType
	said  *regexp.Regexp
	Reason
}

var (
	registration = []metal3.ErrorType{metal3.RegistrationError, metal3.ProvisionedRegistrationError, metal3.PowerManagementError, metal3.DetachError}
	bmc          = slices.Concat(registration, []metal3.ErrorType{metal3.InspectionError, metal3.PreparationError, metal3.ProvisioningError})
)

// causes are looked at in their order: what is special comes first.
var causes = []cause{
	{registration, regexp.MustCompile(`secret doesn't exist|No BMC CredentialsName defined`), Reason{"there is no Secret with the login of its BMC",
		"Create the Secret that spec.bmc.credentialsName names, with the keys username and password, in the namespace of the host."}},
	{registration, regexp.MustCompile(`Missing BMC connection detail '(username|password)'`), Reason{"the Secret with the login of its BMC is incomplete",
		"Give the Secret that spec.bmc.credentialsName names the keys username and password."}},
	{registration, regexp.MustCompile(`Missing BMC connection detail 'Address'|Empty BMC address|Unknown BMC type|[Ff]ailed to parse BMC address`), Reason{"the address of its BMC is none that Metal3 knows",
		"Correct spec.bmc.address: redfish-virtualmedia://10.0.0.5/redfish/v1/Systems/1, redfish://... or ipmi://10.0.0.5."}},
	{registration, regexp.MustCompile(`conflicts with existing node`), Reason{"another host has its boot MAC address", "Find both with `kubectl get bmh -A -o wide`, and correct spec.bootMACAddress of one."}},
	{registration, regexp.MustCompile(`requires a BootMACAddress`), Reason{"its boot MAC address is not known", "Set spec.bootMACAddress to the MAC address of the card that it boots from."}},
	{registration, regexp.MustCompile(`requires a provisioning network`), Reason{"its way to boot needs a provisioning network, and Ironic has none",
		"Use virtual media: spec.bmc.address with redfish-virtualmedia://, or idrac-virtualmedia:// for Dell."}},
	{registration, regexp.MustCompile(`does not support secure boot`), Reason{"its BMC cannot switch secure boot on", "Set spec.bootMode: UEFI."}},
	{bmc, regexp.MustCompile(`CERTIFICATE_VERIFY_FAILED|certificate verify failed`), Reason{"Ironic does not trust the certificate of its BMC",
		"Give Ironic the authority that signed it; or set spec.bmc.disableCertificateVerification: true, if nobody else is on the network of the BMCs."}},
	{bmc, regexp.MustCompile(`returned code 40[13]\b|AccessError|Unauthorized|RAKP|[Ii]nvalid (user ?name|password)|Unable to establish IPMI v2|insufficient privilege`), Reason{"its BMC refuses the login",
		"Correct the Secret that spec.bmc.credentialsName names; Metal3 then tries at once. Some BMCs lock a user after several attempts: look at the BMC."}},
	{bmc, regexp.MustCompile(`returned code 404\b`), Reason{"its BMC does not know what the address names", "Correct the path in spec.bmc.address: `curl -k -u USER https://BMC/redfish/v1/Systems` lists the systems of a BMC."}},
	{bmc, regexp.MustCompile(`Unable to connect to|[Cc]onnection (refused|failed|timed out|reset)|Max retries exceeded|No route to host|Name or service not known|[Rr]ead timed out|Cannot get system|IPMI call failed`), Reason{"its BMC does not answer",
		"Look at the cable and the power of the BMC, and at spec.bmc.address; from the bootstrap machine: `ping BMC`, `curl -k https://BMC/redfish/v1`."}},
	{[]metal3.ErrorType{metal3.InspectionError}, regexp.MustCompile(`imeout reached while inspecting`), neverCalled("the inspection")},
	{[]metal3.ErrorType{metal3.PreparationError, metal3.ProvisioningError}, regexp.MustCompile(`imeout reached while cleaning`), neverCalled("the cleaning of its disks")},
	{[]metal3.ErrorType{metal3.ProvisioningError}, regexp.MustCompile(`imeout reached while waiting for callback`), neverCalled("the installation")},
	{[]metal3.ErrorType{metal3.PreparationError, metal3.ProvisioningError}, regexp.MustCompile(`EFI variables are not supported|efibootmgr|[Bb]oot mode`), Reason{"its firmware boots in another mode than Metal3 expects",
		"Set the firmware to the mode of spec.bootMode, or spec.bootMode (UEFI, legacy, UEFISecureBoot) to that of the firmware."}},
	{[]metal3.ErrorType{metal3.InspectionError}, nil, Reason{"its inspection failed", "Look at its console and at the log of Ironic. To inspect it again: `kubectl annotate bmh -n NAMESPACE NAME inspect.metal3.io=`"}},
	{[]metal3.ErrorType{metal3.PreparationError}, nil, Reason{"its preparation failed: RAID, settings of the firmware, or the cleaning of its disks",
		"Correct spec.raid, or its HostFirmwareSettings; spec.automatedCleaningMode: disabled leaves what is on its disks."}},
	{[]metal3.ErrorType{metal3.PowerManagementError}, nil, Reason{"its BMC does not switch its power", "Look at the BMC; a BMC that hangs needs a reset, which most have in their web pages."}},
	{registration, nil, Reason{"Metal3 cannot use its BMC", "Look at the message, and at the log of Ironic."}},
}

// neverCalled is the reason of a server whose ramdisk did not reach Ironic.
func neverCalled(what string) Reason {
	return Reason{"its ramdisk did not call back during " + what,
		"Look at its console. No DHCP reply: spec.bootMACAddress must be that of a card on the provisioning network. A boot from the disk: spec.bootMode and the boot order. " +
			"A ramdisk that waits: its network, or a card without a driver in the ramdisk."}
}

func failed(kind metal3.ErrorType, message string) *Reason {
	for _, c := range causes {
		if slices.Contains(c.types, kind) && (c.said == nil || c.said.MatchString(message)) {
			return &c.Reason
		}
	}
	return nil
}

// slow returns the reason of a server on which Metal3 has worked, or has not worked, for longer than usual without an error.
func slow(host *metal3.BareMetalHost, now time.Time) *Reason {
	began, history := host.CreationTimestamp.Time, host.Status.OperationHistory
	limit, r := time.Duration(0), Reason{}
	switch host.Status.Provisioning.State {
	case metal3.StateNone:
		limit, r = 2*time.Minute, Reason{"Metal3 has not looked at it", "Look at Metal3's controller: does it run, and does it watch this namespace?"}
	case metal3.StateUnmanaged:
		return &Reason{"Metal3 knows no BMC of it", "Set spec.bmc; a server that has Linux already needs spec.externallyProvisioned: true as well."}
	case metal3.StateRegistering:
		began, limit, r = history.Register.Start.Time, 5*time.Minute, Reason{"Ironic is not done with its BMC", "Look at the BMC, and at the log of Ironic."}
	case metal3.StateInspecting:
		began, limit, r = history.Inspect.Start.Time, 20*time.Minute, neverCalled("the inspection")
	case metal3.StateProvisioning:
		began, limit, r = history.Provision.Start.Time, 30*time.Minute, Reason{"the installation takes long", "Look at its console: an image is written over its network, or its ramdisk did not start."}
	case metal3.StateDeprovisioning:
		began, limit, r = history.Deprovision.Start.Time, 45*time.Minute, Reason{"the cleaning of its disks takes long", "Look at its console: disks that are overwritten take hours, or its ramdisk did not start."}
	default:
		return nil
	}
	if began.IsZero() || now.Sub(began) < limit {
		return nil
	}
	r.Why += fmt.Sprintf(" (for %s)", now.Sub(began).Round(time.Minute))
	return &r
}
