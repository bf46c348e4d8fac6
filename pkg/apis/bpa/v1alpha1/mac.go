package v1alpha1

import (
	"fmt"
	"regexp"
	"strings"
)

// MAC is a 48-bit hardware address. A spec keeps the notation of the user; ParseMAC returns the
// canonical notation.
//
// +kubebuilder:validation:Pattern=`^$|^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$`
type MAC string

var macPattern = regexp.MustCompile(`^[0-9a-f]{2}(:[0-9a-f]{2}){5}$`)

// ParseMAC converts an address with colons or dashes, in upper or lower case, to lower case with
// colons. It returns an error for the all-zeros address and for the broadcast address, because no
// network card has them.
func ParseMAC(text string) (MAC, error) {
	mac, what, advice := CheckMAC(text)
	if what != "" {
		return "", fmt.Errorf("%s: %s", what, advice)
	}
	return mac, nil
}

// CheckMAC returns the address in its canonical notation. If text is no valid address, what
// describes the problem and advice describes how to correct it.
func CheckMAC(text string) (mac MAC, what, advice string) {
	const readIt = "copy the network card's address from the BareMetalHost or from the machine's label"
	address := strings.ToLower(text)
	if !strings.Contains(address, ":") {
		address = strings.ReplaceAll(address, "-", ":")
	}
	switch {
	case !macPattern.MatchString(address):
		return "", fmt.Sprintf("%q is not a MAC address", text), "write six pairs of hexadecimal digits, such as 00:c6:14:04:61:b2"
	case address == "00:00:00:00:00:00" || address == "ff:ff:ff:ff:ff:ff":
		return "", fmt.Sprintf("%q is not the MAC address of a network card", text), readIt
	}
	return MAC(address), "", ""
}
