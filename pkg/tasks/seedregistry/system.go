package seedregistry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// System is the operating system of the hosts, in Ansible's words. The zero value is one that nobody named: then no packages are listed.
type System struct {
	Name         string // ID-VERSION_ID of os-release: ubuntu-24.04
	Family       string // Debian, RedHat
	Distribution string // Debian, Ubuntu, Rocky
	Version      string // 24.04
	Major        string // 24
}

// distributions are those that kubespray v2.31.0 supports (README.md, roles/kubernetes/preinstall/defaults/main.yml), by ID of os-release.
// Their names are those that ansible-core 2.18 gives them (module_utils/facts/system/distribution.py). Those whose VERSION_ID is no number,
// such as Kylin's V10, cannot be named in a Provisioning.
var distributions = map[string]System{
	"debian": {Family: "Debian", Distribution: "Debian"},
	"ubuntu": {Family: "Debian", Distribution: "Ubuntu"},

	"almalinux": {Family: "RedHat", Distribution: "AlmaLinux"},
	"amzn":      {Family: "RedHat", Distribution: "Amazon"},
	"centos":    {Family: "RedHat", Distribution: "CentOS"},
	"fedora":    {Family: "RedHat", Distribution: "Fedora"}, // and CoreOS, where kubespray installs no packages at all
	"ol":        {Family: "RedHat", Distribution: "OracleLinux"},
	"openeuler": {Family: "RedHat", Distribution: "openEuler"},
	"rhel":      {Family: "RedHat", Distribution: "RedHat"},
	"rocky":     {Family: "RedHat", Distribution: "Rocky"},
	"uos":       {Family: "RedHat", Distribution: "UnionTech"}, // kubespray puts it into this family

	"opensuse-leap":       {Family: "Suse", Distribution: "openSUSE Leap"},
	"opensuse-tumbleweed": {Family: "Suse", Distribution: "openSUSE Tumbleweed"},

	"flatcar": {Family: "Flatcar", Distribution: "Flatcar"},
}

// SystemOf reads a name such as ubuntu-24.04; empty is no system.
func SystemOf(name string) (System, error) {
	if name == "" {
		return System{}, nil
	}
	cut := strings.LastIndexByte(name, '-')
	id, number := name[:max(cut, 0)], name[cut+1:]
	system, known := distributions[strings.ToLower(id)]
	if !known || number == "" {
		return System{}, fmt.Errorf("spec.operatingSystem %q is no system that kubespray installs on: write ID-VERSION_ID of the hosts' /etc/os-release, where ID is one of %s",
			name, strings.Join(slices.Sorted(maps.Keys(distributions)), ", "))
	}
	system.Name, system.Version = name, number
	system.Major, _, _ = strings.Cut(number, ".")
	return system, nil
}

// facts are what Ansible would find out of it.
func (s System) facts() map[string]string {
	if s.Name == "" {
		return nil
	}
	return map[string]string{
		"ansible_os_family": s.Family, "ansible_distribution": s.Distribution,
		"ansible_distribution_version": s.Version, "ansible_distribution_major_version": s.Major,
	}
}

// debianNames are Debian's words for architectures that it does not call by the kernel's name.
var debianNames = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64", "armv7l": "armhf", "ppc64le": "ppc64el",
}

// architecture is the system's word for what Ansible calls x86_64 or aarch64.
func (s System) architecture(machine string) string {
	if s.Family != "Debian" {
		return machine
	}
	return cmp.Or(debianNames[machine], machine)
}
