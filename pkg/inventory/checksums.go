package inventory

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/digest"
)

// checksum describes where kubespray finds the checksum of one of its downloads. The checksum is in
// a variable. By default, kubespray sets this variable from a table by architecture and version.
type checksum struct {
	download string // key of kubespray's "downloads"
	variable string // variable that holds the checksum, sha256:hex
	table    string // variable with the table
	version  string // variable with the version
}

// checksums are the checksum variables of kubespray v2.31.0, from
// roles/kubespray_defaults/defaults/main/download.yml.
var checksums = []checksum{
	{"calicoctl", "calicoctl_binary_checksum", "calicoctl_binary_checksums", "calico_ctl_version"},
	{"ciliumcli", "ciliumcli_binary_checksum", "ciliumcli_binary_checksums", "cilium_cli_version"},
	{"cni", "cni_binary_checksum", "cni_binary_checksums", "cni_version"},
	{"containerd", "containerd_archive_checksum", "containerd_archive_checksums", "containerd_version"},
	{"containerd_static", "containerd_static_archive_checksum", "containerd_static_archive_checksums", "containerd_version"},
	{"cri_dockerd", "cri_dockerd_archive_checksum", "cri_dockerd_archive_checksums", "cri_dockerd_version"},
	{"crictl", "crictl_binary_checksum", "crictl_checksums", "crictl_version"},
	{"crio", "crio_archive_checksum", "crio_archive_checksums", "crio_version"},
	{"crun", "crun_binary_checksum", "crun_checksums", "crun_version"},
	{"etcd", "etcd_binary_checksum", "etcd_binary_checksums", "etcd_version"},
	{"gvisor_containerd_shim", "gvisor_containerd_shim_binary_checksum", "gvisor_containerd_shim_binary_checksums", "gvisor_version"},
	{"gvisor_runsc", "gvisor_runsc_binary_checksum", "gvisor_runsc_binary_checksums", "gvisor_version"},
	{"helm", "helm_archive_checksum", "helm_archive_checksums", "helm_version"},
	{"kata_containers", "kata_containers_binary_checksum", "kata_containers_binary_checksums", "kata_containers_version"},
	{"kubeadm", "kubeadm_binary_checksum", "kubeadm_checksums", "kube_version"},
	{"kubectl", "kubectl_binary_checksum", "kubectl_checksums", "kube_version"},
	{"kubelet", "kubelet_binary_checksum", "kubelet_checksums", "kube_version"},
	{"nerdctl", "nerdctl_archive_checksum", "nerdctl_archive_checksums", "nerdctl_version"},
	{"runc", "runc_binary_checksum", "runc_checksums", "runc_version"},
	{"skopeo", "skopeo_binary_checksum", "skopeo_binary_checksums", "skopeo_version"},
	{"youki", "youki_archive_checksum", "youki_checksums", "youki_version"},
}

// Tables are the tables by which kubespray decides whether it supports a Kubernetes version on the
// architecture of a host. They are variables of a role, so an inventory cannot override them and
// only extra variables can.
var Tables = []string{"kubeadm_checksums", "kubectl_checksums", "kubelet_checksums"}

// unlisted is written into Tables for a Kubernetes version that the depot has, so that kubespray
// accepts the version. It is not a valid checksum. If a file has no pin, its download therefore
// fails.
const unlisted = "the depot's"

// own returns the template expression that gives kubespray's own checksum, or an empty string if
// kubespray has none.
func (c checksum) own() string {
	return fmt.Sprintf("((%s | default({}))[image_arch] | default({}))[%s] | default('')", c.table, c.version)
}

// ListingVars returns variables with which kubespray can list its downloads even if it lacks the
// checksum of a version. It then uses an empty checksum. If request.DepotChecksums is set, all
// checksums are empty, because the depot's checksums replace them. The result does not contain the
// checksum variables that the user provides.
func ListingVars(request contract.Request) map[string]any {
	variables := map[string]string{}
	vars := map[string]any{"bpa_checksum_variables": variables}
	for _, c := range checksums {
		variables[c.download] = c.variable
		if request.SetsVar(c.variable) {
			continue
		}
		vars[c.variable] = "{{ " + c.own() + " }}"
		if request.DepotChecksums {
			vars[c.variable] = ""
		}
	}
	return vars
}

// Pins are the checksums with which nodes must verify files of the depot. Each is a SHA-256 in
// hexadecimal. The first key is kubespray's checksum variable. The second key is kubespray's name
// of the architecture (amd64, arm64).
type Pins map[string]map[string]string

var architecturePattern = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// ParsePins parses Pins from JSON. It returns nil if text is empty. It accepts only known variables
// and well-formed checksums, because the values become variables of a playbook.
func ParsePins(text string) (Pins, error) {
	if text == "" {
		return nil, nil
	}
	var p Pins
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, fmt.Errorf("checksums of the depot: %w", err)
	}
	for variable, sums := range p {
		if !IsChecksum(variable) {
			return nil, fmt.Errorf("checksums of the depot: %q is not a kubespray variable for a checksum", variable)
		}
		for architecture, sum := range sums {
			if !architecturePattern.MatchString(architecture) || !digest.IsSHA256(sum) {
				return nil, fmt.Errorf("checksums of the depot: %s has %q for architecture %q, want 64 hexadecimal digits for an architecture such as amd64", variable, sum, architecture)
			}
		}
	}
	return p, nil
}

// IsChecksum reports whether kubespray has this variable for the checksum of a download.
func IsChecksum(variable string) bool {
	return slices.ContainsFunc(checksums, func(c checksum) bool { return c.variable == variable })
}

// vars returns variables with which kubespray accepts a pinned file only if its content has the
// pinned checksum. For an architecture without a pin, kubespray uses its own checksum.
func (p Pins) vars(version string) map[string]any {
	vars, supported := map[string]any{}, map[string]map[string]string{}
	for _, c := range checksums {
		sums := p[c.variable]
		if len(sums) == 0 {
			continue
		}
		prefixed := map[string]string{}
		for architecture, sum := range sums {
			prefixed[architecture] = "sha256:" + sum
			if slices.Contains(Tables, c.table) {
				supported[architecture] = map[string]string{version: unlisted}
			}
		}
		literal, _ := json.Marshal(prefixed) // cannot fail, because all strings have been checked; the keys are sorted
		vars[c.variable] = fmt.Sprintf("{{ %s[image_arch] | default(%s) }}", literal, c.own())
	}
	if len(supported) > 0 {
		supported["amd64"] = map[string]string{version: unlisted} // kubespray reads the oldest supported version from the entry for amd64, on every architecture
		for _, table := range Tables {
			vars[table] = supported
		}
	}
	return vars
}
