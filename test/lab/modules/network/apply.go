package main

import (
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// protocol marks our routes in the kernel's table, so that we remove ours and nobody else's.
const protocol = 76

func apply(w wanted) error {
	if err := applyRoutes(w.routes); err != nil {
		return err
	}
	if w.podCIDR == "" {
		return nil
	}
	conf, err := conflist(w.podCIDR)
	if err != nil {
		return err
	}
	// The routes come first: the file makes the node Ready.
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
			return fmt.Errorf("pod range of a node: %w", err)
		}
		route := netlink.Route{Dst: dst, Gw: net.ParseIP(via), Protocol: protocol}
		if err := netlink.RouteReplace(&route); err != nil {
			return fmt.Errorf("route to %s by %s: %w; do the nodes share one link?", cidr, via, err)
		}
	}
	return nil
}
