package hostfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// The paths of fields, by which a Row knows their places.
const (
	pathName     = "name"
	pathAddress  = "bmc.address"
	pathUsername = "bmc.username"
	pathPassword = "bmc.password"
	pathBootMAC  = "bootMACAddress"
	pathBootMode = "bootMode"
	pathLabels   = "labels"
	pathNetwork  = "networkData"
	pathRamdisk  = "preprovisioningNetworkData"
	pathHints    = "rootDeviceHints"
	pathOnline   = "online"
	pathExternal = "externallyProvisioned"
	pathNoVerify = "bmc.disableCertificateVerification"
)

// field is a field of a file.
type field struct {
	name string
	// path is that in Row.fields, for fields with several names; empty: the names down to this field.
	path   string
	below  []field // the fields of an object
	read   func(r *Row, v *yaml.Node) error
	remedy string // what to write instead of a value of a wrong type
}

// login are the fields of a BMC, as ICN has them.
var login = []field{
	{name: "username", path: pathUsername, read: text(func(r *Row) *string { return &r.Username }), remedy: writeText},
	{name: "password", path: pathPassword, read: text(func(r *Row) *string { return &r.Password }), remedy: writeText},
	{name: "address", path: pathAddress, read: text(func(r *Row) *string { return &r.Address }), remedy: writeText},
}

var noVerify = field{name: "disableCertificateVerification", path: pathNoVerify, read: truth(func(r *Row, is bool) { r.NoVerify = is }), remedy: writeTruth}

const (
	writeText  = "write a text"
	writeTruth = "write true or false"
	writeNet   = "write OpenStack's network_data, with links and networks"
)

// topFields are the fields of a server: those of ICN's nodes.json (name, ipmi_driver_info, os, net), the same under the names
// that Metal3 has for them, and more fields of Metal3. CSV has no objects, so the fields of a BMC are at the top there.
var topFields = append([]field{
	{name: "name", read: text(func(r *Row) *string { return &r.Name }), remedy: writeText},
	{name: "bmc", below: append(login[:len(login):len(login)], noVerify)},
	{name: "ipmi_driver_info", path: "bmc", below: login},
	{name: "os", below: []field{{name: "image_name", read: ignored}, {name: "username", read: ignored}, {name: "password", read: ignored}}},
	{name: "net", path: pathNetwork, read: (*Row).readNetwork, remedy: writeNet},
	{name: "networkData", read: (*Row).readNetwork, remedy: writeNet},
	{name: "preprovisioningNetworkData", read: (*Row).readRamdisk, remedy: writeNet},
	{name: "bootMACAddress", read: text(func(r *Row) *string { return &r.BootMAC }), remedy: writeText},
	{name: "bootMode", read: text(func(r *Row) *string { return (*string)(&r.BootMode) }), remedy: "write UEFI, UEFISecureBoot or legacy"},
	{name: "labels", read: (*Row).readLabels, remedy: "write names with texts, such as rack: r1"},
	{name: "online", read: truth(func(r *Row, is bool) { r.Online = &is }), remedy: writeTruth},
	{name: "externallyProvisioned", read: truth(func(r *Row, is bool) { r.ExternallyProvisioned = is }), remedy: writeTruth},
	{name: "rootDeviceHints", read: (*Row).readHints, remedy: "write an object as in the spec of a BareMetalHost, such as minSizeGigabytes: 48"},
}, append(login[:len(login):len(login)], noVerify)...)

// isDocument reports whether a column of CSV has JSON in its cells.
func isDocument(column string) bool {
	return column == "net" || column == pathNetwork || column == pathRamdisk || column == pathHints
}

func ignored(*Row, *yaml.Node) error { return nil }

// text reads a scalar as it is written: a password of digits is a text too.
func text(of func(*Row) *string) func(*Row, *yaml.Node) error {
	return func(r *Row, v *yaml.Node) error {
		if v.Kind != yaml.ScalarNode {
			return errors.New("this is no text")
		}
		*of(r) = v.Value
		return nil
	}
}

func truth(set func(*Row, bool)) func(*Row, *yaml.Node) error {
	return func(r *Row, v *yaml.Node) error {
		value := strings.ToLower(v.Value)
		if v.Kind != yaml.ScalarNode || value != "true" && value != "false" {
			return errors.New("this is neither true nor false")
		}
		set(r, value == "true")
		return nil
	}
}

func (r *Row) readLabels(v *yaml.Node) error {
	if v.Kind != yaml.MappingNode {
		return errors.New("this is no object")
	}
	r.Labels = map[string]string{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		name, value := v.Content[i].Value, v.Content[i+1]
		switch _, twice := r.Labels[name]; {
		case value.Kind != yaml.ScalarNode:
			return fmt.Errorf("label %s is no text", shown(name))
		case twice:
			return fmt.Errorf("label %s is there twice", shown(name))
		}
		r.Labels[name] = value.Value
		r.fields[labelColumn+name] = place{name: labelColumn + shown(name), line: v.Content[i].Line}
	}
	return nil
}

func (r *Row) readHints(v *yaml.Node) error {
	raw, err := fromYAML(v)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	r.RootDeviceHints = &metal3.RootDeviceHints{}
	if v.Kind != yaml.MappingNode || d.Decode(r.RootDeviceHints) != nil {
		return errors.New("these are no root device hints of Metal3")
	}
	return nil
}

// readNetwork reads the network data of the operating system, and with them the boot MAC address of ICN's files.
func (r *Row) readNetwork(v *yaml.Node) (err error) {
	r.NetworkData, err = r.network(v)
	return err
}

func (r *Row) readRamdisk(v *yaml.Node) (err error) {
	r.RamdiskNetworkData, err = r.network(v)
	return err
}

// network returns network data as JSON, and collects the MAC addresses of their links.
func (r *Row) network(v *yaml.Node) ([]byte, error) {
	if v.Kind != yaml.MappingNode {
		return nil, errors.New("this is no object")
	}
	for _, link := range children(member(v, "links")) {
		if address := member(link, "ethernet_mac_address"); address != nil {
			m := newMAC(address.Value, place{name: "ethernet_mac_address", line: address.Line})
			r.macs = append(r.macs, m)
			if id := member(link, "id"); id != nil && id.Value == icnBootLink && m.ok {
				r.icnBoot = m
			}
		}
	}
	return fromYAML(v)
}

// icnBootLink is the id of the link by which ICN boots a server.
const icnBootLink = "provisioning_nic"

// member returns a field of a mapping; nil: there is none.
func member(node *yaml.Node, name string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return nil
}

// children returns the elements of a list.
func children(node *yaml.Node) []*yaml.Node {
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	return node.Content
}

// newMAC parses a MAC address of 6 bytes, with colons or dashes.
func newMAC(text string, at place) mac {
	parsed, err := net.ParseMAC(strings.TrimSpace(text))
	if err != nil || len(parsed) != 6 {
		return mac{text: text, place: at}
	}
	return mac{text: parsed.String(), ok: true, place: at}
}
