package v1alpha1

import (
	"fmt"
	"regexp"
	"strings"
)

// MAC is a 48-bit hardware address. In a spec it is what the person wrote; ParseMAC gives its one canonical notation.
//
// +kubebuilder:validation:Pattern=`^$|^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$`
type MAC string

var macPattern = regexp.MustCompile(`^[0-9a-f]{2}(:[0-9a-f]{2}){5}$`)

// ParseMAC brings an address with colons or dashes, in upper or lower case, to lower case with colons. It refuses
// what no card has: all zeros, and the address of all cards.
func ParseMAC(text string) (MAC, error) {
	mac, what, advice := parseMAC(text)
	if what != "" {
		return "", fmt.Errorf("%s: %s", what, advice)
	}
	return mac, nil
}

// parseMAC gives the address, or what is wrong and what to do.
func parseMAC(text string) (mac MAC, what, advice string) {
	const readIt = "read the card's address in the BareMetalHost or on the machine's label"
	address := strings.ToLower(text)
	if !strings.Contains(address, ":") {
		address = strings.ReplaceAll(address, "-", ":")
	}
	switch {
	case !macPattern.MatchString(address):
		return "", fmt.Sprintf("%q is no MAC address", text), "write six pairs of hexadecimal digits, such as 00:c6:14:04:61:b2"
	case address == "00:00:00:00:00:00" || address == "ff:ff:ff:ff:ff:ff":
		return "", fmt.Sprintf("%q is no card's MAC address", text), readIt
	}
	return MAC(address), "", ""
}
