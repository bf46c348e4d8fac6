//go:build e2e

package e2e

import (
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/test/site"
)

// machineAddress is the address of the bootstrap machine at which the lab's machines reach it.
const machineAddress = "10.60.0.1"

// balancer is a load balancer in front of the API servers of a lab's machines. It connects to the first machine that
// accepts a connection.
type balancer struct {
	t       *testing.T
	host    string
	port    int32
	targets []string // address:port
	ask     string   // the path that watch asks for; empty: /readyz

	mu       sync.Mutex
	listener net.Listener // nil: off
	open     map[net.Conn]bool
}

// balance starts a load balancer in front of all hosts of the site, of which any may become a control plane.
func balance(t *testing.T, s *site.Site) *balancer {
	t.Helper()
	b := &balancer{t: t, host: machineAddress, open: map[net.Conn]bool{}}
	for _, h := range s.Hosts() {
		for _, address := range strings.Fields(s.On(h, "hostname -I")) {
			if net.ParseIP(address).To4() != nil {
				b.targets = append(b.targets, net.JoinHostPort(address, "6443"))
			}
		}
	}
	b.on()
	t.Cleanup(b.off)
	return b
}

func (b *balancer) url() string {
	return "https://" + net.JoinHostPort(b.host, strconv.Itoa(int(b.port)))
}

func (b *balancer) on() {
	b.t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(b.host, strconv.Itoa(int(b.port))))
	if err != nil {
		b.t.Fatalf("load balancer: %v", err)
	}
	b.port = int32(l.Addr().(*net.TCPAddr).Port)
	b.mu.Lock()
	b.listener = l
	b.mu.Unlock()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // off
			}
			go b.forward(conn)
		}
	}()
}

// off ends all connections.
func (b *balancer) off() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listener == nil {
		return
	}
	_ = b.listener.Close() // it may be closed already
	b.listener = nil
	for conn := range b.open {
		_ = conn.Close() // the other side may have closed it
	}
}

func (b *balancer) forward(from net.Conn) {
	defer from.Close()
	for _, target := range b.targets {
		to, err := net.DialTimeout("tcp", target, time.Second)
		if err != nil {
			continue
		}
		defer to.Close()
		if !b.keep(from, to) {
			return
		}
		defer b.forget(from, to)
		ended := make(chan struct{}, 2)
		for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1]) // it ends with either connection
				ended <- struct{}{}
			}()
		}
		<-ended
		return
	}
}

// keep remembers open connections, unless the load balancer is off.
func (b *balancer) keep(conns ...net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range conns {
		b.open[c] = true
	}
	return b.listener != nil
}

func (b *balancer) forget(conns ...net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range conns {
		delete(b.open, c)
	}
}
