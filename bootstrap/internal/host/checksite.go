package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// CheckSite returns an error for each difference between the network of a site file and this machine: an interface that does not exist,
// an address that it does not have, and a route that the ranges of the machine would hide.
func CheckSite(ctx context.Context, n layout.Network) error {
	var findings []error
	for _, l := range n.Links() {
		addresses, err := addressesOf(l.Interface)
		switch {
		case err != nil:
			findings = append(findings, fmt.Errorf("interface %s: %w (see `ip link`)", l.Interface, err))
		case l.Address.IsValid() && !slices.Contains(addresses, l.Address):
			findings = append(findings, fmt.Errorf("interface %s has not the address %s, but %v: configure it in the system of this machine, or correct the file", l.Interface, l.Address, addresses))
		}
	}
	out, err := run(ctx, "", "ip", "-json", "-4", "route", "show", "table", "main")
	if err != nil {
		return errors.Join(append(findings, err)...)
	}
	hidden, err := hiddenRoutes([]byte(out), n)
	return errors.Join(append(findings, append(hidden, err)...)...)
}

func addressesOf(name string) ([]netip.Addr, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	all, err := i.Addrs()
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			addresses = append(addresses, p.Addr())
		}
	}
	return addresses, nil
}

// hiddenRoutes returns an error for each route, in the JSON of `ip route`, that overlaps with a range of the machine.
func hiddenRoutes(routes []byte, n layout.Network) (findings []error, err error) {
	var all []struct{ Dst, Dev string }
	if err := json.Unmarshal(routes, &all); err != nil {
		return nil, fmt.Errorf("read the output of ip route: %w", err)
	}
	for _, r := range all {
		to, err := netip.ParsePrefix(r.Dst)
		if address, notOne := netip.ParseAddr(r.Dst); err != nil && notOne == nil {
			to, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil || to.Bits() == 0 || r.Dev == layout.Bridge { // "default", and the machine's own
			continue
		}
		for name, own := range map[string]netip.Prefix{"pods": n.Pods, "services": n.Services} {
			if own.Overlaps(to) {
				findings = append(findings, fmt.Errorf("%s (%s) would hide what this machine reaches by its route to %s at %s: choose another range for %[1]s", name, own, to, r.Dev))
			}
		}
	}
	return findings, nil
}
