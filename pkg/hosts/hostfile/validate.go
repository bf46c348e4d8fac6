package hostfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts/networkdata"
)

// Validate returns what is wrong in the rows, in the order of their lines: in each of them, between them, and with what the
// site has.
func Validate(rows []*Row, namespace string, site Site) (findings []Finding) {
	for _, r := range rows {
		for _, check := range checks {
			findings = append(findings, check(r)...)
		}
	}
	findings = append(findings, duplicates(rows, namespace, site.Hosts)...)
	findings = append(findings, foreign(rows, namespace, site)...)
	return Together(findings)
}

// checks are what each row must pass by itself.
var checks = []func(*Row) []Finding{(*Row).checkName, (*Row).checkBMC, (*Row).checkLogin, (*Row).checkMACs, (*Row).checkBootMode, (*Row).checkLabels, (*Row).checkNetwork, (*Row).checkHints}

// longestSuffix is the longest one of the names of Secrets.
const longestSuffix = len(ramdiskSuffix)

// uuid are the notations of a UUID that are names of objects. Metal3 refuses them.
var uuid = regexp.MustCompile(`^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

func (r *Row) checkName() []Finding {
	switch {
	case r.Name == "":
		return []Finding{r.finding(pathName, missing, "give the server a name, such as node1")}
	case len(validation.IsDNS1123Subdomain(r.Name)) > 0:
		return []Finding{r.finding(pathName, shown(r.Name)+" is no name of an object", "use lower case letters, digits, - and ., such as "+suggestedName(r.Name))}
	case uuid.MatchString(r.Name):
		return []Finding{r.finding(pathName, "Metal3 accepts no UUID as a name", "use another name, such as node1")}
	case len(r.Name)+longestSuffix > validation.DNS1123SubdomainMaxLength:
		return []Finding{r.finding(pathName, fmt.Sprintf("it has %d characters", len(r.Name)), fmt.Sprintf("use at most %d, so that the names of its Secrets fit", validation.DNS1123SubdomainMaxLength-longestSuffix))}
	}
	return nil
}

// suggestedName returns a valid name that is like the wrong one.
func suggestedName(wrong string) string {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' {
			return c
		}
		return '-'
	}, strings.ToLower(wrong))
	if name = strings.Trim(name, "-."); len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "node1"
	}
	return name
}

func (r *Row) checkBMC() []Finding {
	if r.Address == "" {
		return []Finding{r.finding(pathAddress, missing, "write the address of the BMC, such as ipmi://10.0.0.5 or redfish-virtualmedia://10.0.0.5/redfish/v1/Systems/1")}
	}
	access, problem, remedy := driver(r.Address)
	if problem != "" {
		return []Finding{r.finding(pathAddress, problem, remedy)}
	}
	if access.NeedsMAC() && r.BootMAC == "" {
		return []Finding{r.finding(pathBootMAC, "it is missing, and the driver "+access.Type()+" needs it", "write the MAC address of the network card from which the server boots")}
	}
	return nil
}

func (r *Row) checkLogin() (findings []Finding) {
	for path, value := range map[string]string{pathUsername: r.Username, pathPassword: r.Password} {
		if value == "" {
			findings = append(findings, r.finding(path, missing, "write the login of the BMC"))
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return strings.Compare(b.Field, a.Field) })
	return findings
}

const macRemedy = "write 6 bytes, such as 00:1e:67:fe:f4:19"

func (r *Row) checkMACs() (findings []Finding) {
	if r.BootMAC != "" && !newMAC(r.BootMAC, place{}).ok {
		findings = append(findings, r.finding(pathBootMAC, shown(r.BootMAC)+" is no MAC address", macRemedy))
	}
	for _, m := range r.macs {
		if !m.ok {
			findings = append(findings, Finding{Line: m.line, Host: shown(r.Name), Field: m.name, Problem: shown(m.text) + " is no MAC address", Remedy: macRemedy})
		}
	}
	return findings
}

func (r *Row) checkBootMode() []Finding {
	switch r.BootMode {
	case "", metal3.UEFI, metal3.Legacy:
		return nil
	case metal3.UEFISecureBoot:
		if access, problem, _ := driver(r.Address); problem == "" && !access.SupportsSecureBoot() {
			return []Finding{r.finding(pathBootMode, "the driver "+access.Type()+" cannot switch secure boot on", "use UEFI, or a driver for Redfish")}
		}
		return nil
	}
	return []Finding{r.finding(pathBootMode, shown(string(r.BootMode))+" is no boot mode", "write UEFI, UEFISecureBoot or legacy")}
}

// ours are the labels of BPA that people set on hosts. BPA writes the others.
var ours = []string{contract.LabelSRIOV, contract.LabelQAT}

func (r *Row) checkLabels() (findings []Finding) {
	for name, value := range r.Labels {
		domain, _, _ := strings.Cut(name, "/")
		switch {
		case len(validation.IsQualifiedName(name)) > 0:
			findings = append(findings, r.finding(labelColumn+name, "this is no name of a label", "use letters, digits, -, _ and ., such as rack or site.example.com/rack"))
		case strings.HasSuffix(domain, "bpa.akraino.org") && !slices.Contains(ours, name):
			findings = append(findings, r.finding(labelColumn+name, "BPA writes this label itself", "use another name"))
		case len(validation.IsValidLabelValue(value)) > 0:
			findings = append(findings, r.finding(labelColumn+name, shown(value)+" is no value of a label", "use at most 63 letters, digits, -, _ and ."))
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return strings.Compare(a.Field, b.Field) })
	return findings
}

func (r *Row) checkNetwork() (findings []Finding) {
	for path, data := range map[string][]byte{pathNetwork: r.NetworkData, pathRamdisk: r.RamdiskNetworkData} {
		if data == nil {
			continue
		}
		if _, err := networkdata.OfSecret(map[string][]byte{networkdata.Key: data}); err != nil {
			findings = append(findings, r.finding(path, strings.TrimPrefix(err.Error(), "key "+networkdata.Key+": "), "correct the network data"))
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return strings.Compare(a.Field, b.Field) })
	return findings
}

func (r *Row) checkHints() []Finding {
	h := r.RootDeviceHints
	switch {
	case h == nil:
		return nil
	case h.MinSizeGigabytes < 0:
		return []Finding{r.finding(pathHints, "minSizeGigabytes is below 0", "write a size in gigabytes")}
	case h.DeviceName == "":
		return nil
	}
	name, found := strings.CutPrefix(h.DeviceName, "/dev/")
	if name = strings.TrimPrefix(name, "disk/by-path/"); !found || name == "" || strings.Contains(name, "/") {
		return []Finding{r.finding(pathHints, "deviceName is "+shown(h.DeviceName), "write a path in /dev/ or /dev/disk/by-path/")}
	}
	return nil
}
