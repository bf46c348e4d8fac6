package main

import (
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// protocol is the routing protocol number of the routes that this program creates. It removes no
// other routes.
const protocol = 76

// apply writes the routes and the CNI configuration of this node.
func apply(s state) error {
	if err := applyRoutes(s.routes); err != nil {
		return err
	}
	if s.podCIDR == "" {
		return nil
	}
	conf, err := conflist(s.podCIDR)
	if err != nil {
		return err
	}
	// Write the routes first, because the kubelet reports the node as Ready when the file exists.
	if err := os.WriteFile(confFile+".new", conf, 0o644); err != nil {
		return fmt.Errorf("write CNI configuration: %w", err)
	}
	return os.Rename(confFile+".new", confFile)
}

func applyRoutes(routes map[string]string) error {
	have, err := netlink.RouteListFiltered(unix.AF_INET, &netlink.Route{Protocol: protocol}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	for _, r := range have {
		if r.Dst != nil && routes[r.Dst.String()] == "" {
			if err := netlink.RouteDel(&r); err != nil {
				return fmt.Errorf("remove route to %s: %w", r.Dst, err)
			}
		}
	}
	for cidr, via := range routes {
		_, dst, err := net.ParseCIDR(cidr)
		if err != nil {
			return fmt.Errorf("parse pod range of a node: %w", err)
		}
		route := netlink.Route{Dst: dst, Gw: net.ParseIP(via), Protocol: protocol}
		if err := netlink.RouteReplace(&route); err != nil {
			return fmt.Errorf("add route to %s via %s: %w: check that the nodes are in the same layer 2 network", cidr, via, err)
		}
	}
	return nil
}
