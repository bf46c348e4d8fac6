package seedregistry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// System is the operating system of the hosts, by Ansible's names. The zero value means that the
// request does not name a system. In this case no packages are listed.
type System struct {
	Name         string // ID-VERSION_ID of os-release: ubuntu-24.04
	Family       string // Debian, RedHat
	Distribution string // Debian, Ubuntu, Rocky
	Version      string // 24.04
	Major        string // 24
}

// distributions are the distributions that kubespray v2.31.0 supports (README.md,
// roles/kubernetes/preinstall/defaults/main.yml). The keys are IDs of os-release. Family and
// Distribution are the names in ansible-core 2.18 (module_utils/facts/system/distribution.py). Some
// distributions have a VERSION_ID that is not a number, such as Kylin's V10: a Provisioning cannot
// name them.
var distributions = map[string]System{
	"debian": {Family: "Debian", Distribution: "Debian"},
	"ubuntu": {Family: "Debian", Distribution: "Ubuntu"},

	"almalinux": {Family: "RedHat", Distribution: "AlmaLinux"},
	"amzn":      {Family: "RedHat", Distribution: "Amazon"},
	"centos":    {Family: "RedHat", Distribution: "CentOS"},
	"fedora":    {Family: "RedHat", Distribution: "Fedora"}, // includes Fedora CoreOS, where kubespray installs no packages
	"ol":        {Family: "RedHat", Distribution: "OracleLinux"},
	"openeuler": {Family: "RedHat", Distribution: "openEuler"},
	"rhel":      {Family: "RedHat", Distribution: "RedHat"},
	"rocky":     {Family: "RedHat", Distribution: "Rocky"},
	"uos":       {Family: "RedHat", Distribution: "UnionTech"}, // kubespray treats it as a member of this family

	"opensuse-leap":       {Family: "Suse", Distribution: "openSUSE Leap"},
	"opensuse-tumbleweed": {Family: "Suse", Distribution: "openSUSE Tumbleweed"},

	"flatcar": {Family: "Flatcar", Distribution: "Flatcar"},
}

// SystemOf returns the System with a name such as ubuntu-24.04. For an empty name it returns the
// zero System.
func SystemOf(name string) (System, error) {
	if name == "" {
		return System{}, nil
	}
	cut := strings.LastIndexByte(name, '-')
	id, number := name[:max(cut, 0)], name[cut+1:]
	system, known := distributions[strings.ToLower(id)]
	if !known || number == "" {
		return System{}, fmt.Errorf("kubespray does not support spec.operatingSystem %q: write ID-VERSION_ID of the hosts' /etc/os-release, where ID is one of %s",
			name, strings.Join(slices.Sorted(maps.Keys(distributions)), ", "))
	}
	system.Name, system.Version = name, number
	system.Major, _, _ = strings.Cut(number, ".")
	return system, nil
}

// facts returns the facts that Ansible would gather on a host with this system.
func (s System) facts() map[string]string {
	if s.Name == "" {
		return nil
	}
	return map[string]string{
		"ansible_os_family": s.Family, "ansible_distribution": s.Distribution,
		"ansible_distribution_version": s.Version, "ansible_distribution_major_version": s.Major,
	}
}

// debianNames maps the kernel's names of architectures to Debian's names. Names that are equal are
// not in the map.
var debianNames = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64", "armv7l": "armhf", "ppc64le": "ppc64el",
}

// architecture returns the name that the system's packages use for an architecture, such as amd64.
// machine is Ansible's name, such as x86_64.
func (s System) architecture(machine string) string {
	if s.Family != "Debian" {
		return machine
	}
	return cmp.Or(debianNames[machine], machine)
}
