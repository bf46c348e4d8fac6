package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
)

// listenTCP listens on a TCP address and serves as many connections at a time as b allows. Further
// connections wait.
func listenTCP(ctx context.Context, address string, b bounds, log *slog.Logger) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	p := &places{
		TCPListener: listener.(*net.TCPListener), bounds: b, log: log, clients: map[netip.Addr]*client{},
		taken: make(chan struct{}, b.most), ready: make(chan net.Conn, b.most), failed: make(chan error), closed: make(chan struct{}),
	}
	go p.run()
	return p, nil
}

// places is a listener that limits the number of connections. Accept returns a connection only when
// it has a place, and the connection keeps the place until it is closed. There are bounds.most
// places, and one client address may have bounds.each of them.
//
// While all places are taken, new connections wait in the kernel. While a client address has all
// places that it may have, its next connections wait in this process. Accept returns TCP
// connections, so net/http can let the kernel send files.
type places struct {
	*net.TCPListener
	bounds
	log *slog.Logger

	taken  chan struct{} // has an element for each place that is taken
	ready  chan net.Conn // connections that have a place; a send never blocks, since the channel's capacity is bounds.most
	failed chan error
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	done    bool // no connection is accepted any more
	clients map[netip.Addr]*client
	waiting int
}

// client has the connections of one client address.
type client struct {
	active  int
	waiting []*net.TCPConn // at most bounds.each
	refused bool           // the log already has a refused connection of this client
}

// Accept waits for a connection that has a place.
func (p *places) Accept() (net.Conn, error) {
	select {
	case c := <-p.ready:
		if p.ended() {
			return nil, errors.Join(net.ErrClosed, c.Close())
		}
		return c, nil
	case err := <-p.failed:
		return nil, err
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close stops the listener and closes the connections that Accept has not returned.
func (p *places) Close() error {
	p.once.Do(func() { close(p.closed) })
	p.dropWaiting()
	for {
		select {
		case c := <-p.ready: // no connection is added to ready after dropWaiting
			_ = c.Close()
		default:
			return p.TCPListener.Close()
		}
	}
}

func (p *places) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

func (p *places) dropWaiting() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	for _, c := range p.clients {
		for _, conn := range c.waiting {
			_ = conn.Close()
		}
		p.waiting -= len(c.waiting)
		c.waiting = nil
	}
}

func (p *places) run() {
	for {
		select {
		case p.taken <- struct{}{}:
		case <-p.closed:
			return
		}
		conn, err := p.AcceptTCP()
		if err == nil {
			p.admit(conn)
			continue
		}
		<-p.taken
		select {
		case p.failed <- err: // the HTTP server waits before it calls Accept again
		case <-p.closed:
			return
		}
	}
}

// admit handles a new connection, for which run has already taken a place. The connection gets this
// place, or waits until another connection of its client address is closed, or is refused.
func (p *places) admit(conn *net.TCPConn) {
	address := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap().WithZone("")
	kept, first := p.keep(address, conn)
	if !kept {
		_ = conn.Close()
	}
	if first {
		p.log.Warn("connections of one client address are refused: its open connections are at the limit, and as many wait; to allow more, raise --max-connections-per-address", "address", address.String(), "limit", p.each)
	}
}

// keep decides whether a new connection stays open. The result first is true if this connection is
// the first one of its client address to be refused. keep frees the place that run has taken,
// unless the connection gets this place.
func (p *places) keep(address netip.Addr, conn *net.TCPConn) (kept, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		<-p.taken
		return false, false
	}
	c := p.clients[address]
	if c == nil {
		c = &client{}
		p.clients[address] = c
	}
	if c.active < p.each {
		c.active++
		p.hand(address, conn)
		return true, false
	}
	<-p.taken
	if len(c.waiting) < p.each && p.waiting < p.most {
		c.waiting = append(c.waiting, conn)
		p.waiting++
		return true, false
	}
	first, c.refused = !c.refused, true
	return false, first
}

// hand passes a connection that has a place to Accept.
func (p *places) hand(address netip.Addr, conn *net.TCPConn) {
	p.ready <- &placed{TCPConn: conn, leave: sync.OnceFunc(func() { p.leave(address) })}
}

// leave passes the place on to the next waiting connection of the same client. If none waits, the
// place becomes free.
func (p *places) leave(address netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.clients[address]
	if len(c.waiting) > 0 {
		next := c.waiting[0]
		c.waiting = c.waiting[1:]
		p.waiting--
		p.hand(address, next)
		return
	}
	if c.active--; c.active == 0 {
		delete(p.clients, address)
	}
	<-p.taken
}

// placed is a connection that gives its place back when it is closed.
type placed struct {
	*net.TCPConn
	leave func()
}

func (p *placed) Close() error {
	defer p.leave()
	return p.TCPConn.Close()
}
