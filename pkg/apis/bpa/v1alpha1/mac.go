package v1alpha1

import (
	"fmt"
	"regexp"
	"strings"
)

// MAC is a 48-bit hardware address. In a spec it is what the person wrote; ParseMAC gives its one canonical notation.
type MAC string

var macPattern = regexp.MustCompile(`^[0-9a-f]{2}(:[0-9a-f]{2}){5}$`)

// ParseMAC brings an address with colons or dashes, in upper or lower case, to lower case with colons. It refuses
// addresses that no single card can have: all zeros, and group addresses (multicast and broadcast).
func ParseMAC(text string) (MAC, error) {
	mac := strings.ToLower(text)
	if !strings.Contains(mac, ":") {
		mac = strings.ReplaceAll(mac, "-", ":")
	}
	if !macPattern.MatchString(mac) {
		return "", fmt.Errorf("%q is no MAC address: write six pairs of hexadecimal digits, such as 00:c6:14:04:61:b2", text)
	}
	if mac == "00:00:00:00:00:00" {
		return "", fmt.Errorf("%q is no address of a card: read the card's address from the BareMetalHost or the machine's label", text)
	}
	if strings.ContainsRune("13579bdf", rune(mac[1])) {
		return "", fmt.Errorf("%q is a group address (its first byte is odd), which no card has: read the card's address from the BareMetalHost or the machine's label", text)
	}
	return MAC(mac), nil
}
