//go:build !linux

package tlscert

import "net"

// reachedAt returns the address to which a client has connected.
func reachedAt(c net.Conn) string {
	host, _, _ := net.SplitHostPort(c.LocalAddr().String())
	return host
}
