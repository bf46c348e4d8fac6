package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
)

// listenTCP takes as many connections at a time as its bounds say; more wait.
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

// places is a listener that keeps connections until there is a place for them: in the kernel while all places are taken, and here while those of
// their client's address are. It hands out connections that are still TCP connections to net/http, which sends files by the kernel then.
type places struct {
	*net.TCPListener
	bounds
	log *slog.Logger

	taken  chan struct{} // one for each place that is
	ready  chan net.Conn // they have a place, so there is room for all
	failed chan error
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	done    bool // nobody accepts any more
	clients map[netip.Addr]*client
	waiting int
}

// client is an address that has connections.
type client struct {
	active  int
	waiting []*net.TCPConn // no more than may be active
	refused bool           // which is in the log
}

// Accept returns a connection that has a place.
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

// Close ends all connections that were not accepted, too.
func (p *places) Close() error {
	p.once.Do(func() { close(p.closed) })
	p.dropWaiting()
	for {
		select {
		case c := <-p.ready: // none comes after dropWaiting
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
		case p.failed <- err: // the server waits before it asks again
		case <-p.closed:
			return
		}
	}
}

// admit gives a connection the place that is taken already, or has it wait for another of its client's, or closes it.
func (p *places) admit(conn *net.TCPConn) {
	address := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap().WithZone("")
	kept, first := p.keep(address, conn)
	if !kept {
		_ = conn.Close()
	}
	if first {
		p.log.Warn("connections are closed: their client has as many as one address may have, and as many wait; see --max-connections-per-address", "address", address.String(), "limit", p.each)
	}
}

// keep says whether a connection stays, and if not, whether it is the first of its client that does not.
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

func (p *places) hand(address netip.Addr, conn *net.TCPConn) {
	p.ready <- &placed{TCPConn: conn, leave: sync.OnceFunc(func() { p.leave(address) })}
}

// leave gives the place to the client's next connection, or back.
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

type placed struct {
	*net.TCPConn
	leave func()
}

func (p *placed) Close() error {
	defer p.leave()
	return p.TCPConn.Close()
}
