package networkdata

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/hosts"
)

// These are the keys of a Secret with network data, in the order in which Metal3 looks for them.
const (
	Key      = "networkData"
	KeyOther = "value"
)

// most is the maximum size of network data in bytes. The data of a host with a hundred networks
// have about 30 KiB.
const most = 256 << 10

// OfSecret reads the addresses from the data of a Secret. The error does not contain the name of
// the Secret. Of the contents of the Secret, it contains only ids and addresses.
func OfSecret(data map[string][]byte) ([]hosts.NetworkAddress, error) {
	for _, key := range []string{Key, KeyOther} {
		if text, ok := data[key]; ok {
			found, err := Parse(text)
			if err != nil {
				return nil, fmt.Errorf("key %s: %w", key, err)
			}
			return found, nil
		}
	}
	return nil, fmt.Errorf("the Secret has neither the key %s nor the key %s", Key, KeyOther)
}

// document has the fields of OpenStack's network_data that this package reads:
// https://docs.openstack.org/nova/latest/user/metadata.html and its schema,
// doc/api_schemas/network_data.json.
type document struct {
	Links    []link    `json:"links"`
	Networks []network `json:"networks"`
}

type link struct {
	ID      string `json:"id"`
	MAC     string `json:"ethernet_mac_address"`
	VLANMAC string `json:"vlan_mac_address"`
	VLANOf  string `json:"vlan_link"`
}

type network struct {
	ID      string `json:"id"`
	Type    string `json:"type"` // ipv4, ipv6, ipv4_dhcp, ipv6_slaac and others
	Link    string `json:"link"`
	Address string `json:"ip_address"` // 10.0.0.5 or 10.0.0.5/24; the netmask is not needed here
}

// Parse reads the static addresses, in the order of the networks. A network whose addresses come
// from DHCP or a router has none. Addresses that other machines cannot reach, such as link-local
// addresses, are left out.
func Parse(text []byte) ([]hosts.NetworkAddress, error) {
	if len(text) > most {
		return nil, fmt.Errorf("network data have %d bytes; the limit is %d", len(text), most)
	}
	var d document
	if err := unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("network data are neither JSON nor YAML of links and networks: %w", err)
	}
	links := map[string]link{}
	for i, l := range d.Links {
		if l.ID == "" {
			return nil, fmt.Errorf("links[%d] has no id", i)
		}
		if _, twice := links[l.ID]; twice {
			return nil, fmt.Errorf("there are two links with the id %s", quote(l.ID))
		}
		links[l.ID] = l
	}
	var found []hosts.NetworkAddress
	for i, n := range d.Networks {
		ip, ok, err := n.address()
		if err == nil && ok {
			var mac string
			if mac, err = macOf(links, n.Link); err == nil {
				found = append(found, hosts.NetworkAddress{Network: n.ID, Link: n.Link, MAC: mac, IP: ip})
			}
		}
		if err != nil {
			return nil, fmt.Errorf("networks[%d] (id %s): %w", i, quote(n.ID), err)
		}
	}
	return found, nil
}

// unmarshal parses text as JSON if it is valid JSON, because this is much faster. It parses
// anything else as YAML.
func unmarshal(text []byte, d *document) error {
	if json.Valid(text) {
		return json.Unmarshal(text, d)
	}
	return yaml.Unmarshal(text, d)
}

// address returns the static address of the network. ok is false if the network has no address that
// other machines can reach.
func (n network) address() (ip netip.Addr, ok bool, err error) {
	switch n.Type {
	case "ipv4", "ipv6":
	case "":
		return ip, false, fmt.Errorf("the network has no type, such as ipv4")
	default:
		return ip, false, nil
	}
	if n.Address == "" {
		return ip, false, fmt.Errorf("type %s needs an ip_address", n.Type)
	}
	if prefix, err := netip.ParsePrefix(n.Address); err == nil {
		ip = prefix.Addr()
	} else if ip, err = netip.ParseAddr(n.Address); err != nil {
		return ip, false, fmt.Errorf("the ip_address %s is not an IP address", quote(n.Address))
	}
	if ip.Is4() != (n.Type == "ipv4") {
		return ip, false, fmt.Errorf("the ip_address %s is not of type %s", quote(n.Address), n.Type)
	}
	return ip, ip.IsGlobalUnicast() && ip.Zone() == "" && !ip.Is4In6(), nil
}

// macOf returns the MAC address of a link, in lower case. A VLAN without a MAC address has that of
// its parent link. The result is empty if there is no address.
func macOf(links map[string]link, id string) (string, error) {
	for range len(links) + 1 {
		l, ok := links[id]
		if !ok {
			return "", fmt.Errorf("there is no link with the id %s", quote(id))
		}
		text := l.MAC
		if l.VLANMAC != "" {
			text = l.VLANMAC
		}
		if text == "" && l.VLANOf != "" {
			id = l.VLANOf
			continue
		}
		if text == "" {
			return "", nil
		}
		mac, err := net.ParseMAC(text)
		if err != nil || len(mac) != 6 {
			return "", fmt.Errorf("the MAC address %s of link %s is invalid", quote(text), quote(id))
		}
		return mac.String(), nil
	}
	return "", fmt.Errorf("the VLAN links of %s form a cycle", quote(id))
}

// quote returns a part of the data for an error message: in quotes, and shortened to a few
// characters.
func quote(text string) string {
	const few = 64
	if len(text) > few {
		text = strings.ToValidUTF8(text[:few], "") + "..."
	}
	return fmt.Sprintf("%q", text)
}
