package tlscert

import (
	"net"
	"syscall"
)

// originalDestination is SO_ORIGINAL_DST of linux/netfilter_ipv4.h, which package syscall lacks.
const originalDestination = 80

// reachedAt returns the address to which a client has connected. The firewall of a bootstrap machine translates its address on the
// network of servers to one of the machine's own; the kernel knows the address before that.
func reachedAt(c net.Conn) string {
	if ip := translated(c); ip != nil {
		return ip.String()
	}
	host, _, _ := net.SplitHostPort(c.LocalAddr().String())
	return host
}

// translated returns the IPv4 address of a connection before a translation; nil: there was none.
func translated(c net.Conn) (ip net.IP) {
	conn, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	_ = raw.Control(func(fd uintptr) {
		// The kernel answers with a sockaddr_in: family, port, address. It fits into the type of this option.
		if address, err := syscall.GetsockoptIPv6Mreq(int(fd), syscall.IPPROTO_IP, originalDestination); err == nil {
			ip = net.IP(address.Multiaddr[4:8])
		}
	})
	return ip
}
