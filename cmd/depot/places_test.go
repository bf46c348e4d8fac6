package main

import (
	"io"
	"log/slog"
	"net"
	"testing"
	"time"
)

// accepted returns the next connection that has a place.
func accepted(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Connections of nodes behind one NAT wait for each other, and the nodes lose no connection.
func TestConnectionsOfOneAddressWaitForEachOther(t *testing.T) {
	l, err := listenTCP(t.Context(), "127.0.0.1:0", bounds{most: 4, each: 2}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var ours []net.Conn
	for range 5 {
		ours = append(ours, dialFrom(t, "127.0.0.1", l.Addr().String()))
	}
	first, second := accepted(t, l), accepted(t, l)
	other := dialFrom(t, "127.0.0.2", l.Addr().String())
	if c := accepted(t, l); c.RemoteAddr().String() != other.LocalAddr().String() {
		t.Errorf("accepted %s, want the other client's %s", c.RemoteAddr(), other.LocalAddr())
	}
	// The client has two open connections and two that wait. The fifth is above the limit.
	if err := ours[4].SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := ours[4].Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("the fifth connection: %v, want it closed", err)
	}
	for n, done := range []net.Conn{first, second} {
		if err := done.Close(); err != nil {
			t.Fatal(err)
		}
		_ = done.Close() // a second Close must not free a second place
		c := accepted(t, l)
		if c.RemoteAddr().String() != ours[n+2].LocalAddr().String() {
			t.Errorf("accepted %s, want %s, which has waited", c.RemoteAddr(), ours[n+2].LocalAddr())
		}
		if _, err := io.WriteString(c, "x"); err != nil {
			t.Error(err)
		}
	}
	p := l.(*places)
	if !becomes(p, func() bool { return len(p.taken) == 4 && p.waiting == 0 }) { // one of the four is taken for the next connection
		t.Errorf("%d places are taken and %d wait, want 4 and none", len(p.taken), p.waiting)
	}
}

// becomes waits until wanted returns true, and reports whether it did. It calls wanted under the
// listener's lock.
func becomes(p *places, wanted func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 20_000 {
		p.mu.Lock()
		is := wanted()
		p.mu.Unlock()
		if is {
			return true
		}
		<-tick.C
	}
	return false
}

// wantClosed fails if a connection stays open.
func wantClosed(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("read = %v, want the connection closed", err)
	}
}

// Close closes the connections that Accept has not returned: one that has a place, one that waits,
// and one that arrives at the same time.
func TestCloseLeavesNoConnection(t *testing.T) {
	l, err := listenTCP(t.Context(), "127.0.0.1:0", bounds{most: 4, each: 1}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p := l.(*places)
	ready := dialFrom(t, "127.0.0.1", l.Addr().String())
	waits := dialFrom(t, "127.0.0.1", l.Addr().String())
	if !becomes(p, func() bool { return len(p.ready) == 1 && p.waiting == 1 }) {
		t.Fatal("the connections did not arrive")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantClosed(t, ready)
	wantClosed(t, waits)

	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for range 2 {
		late := dialFrom(t, "127.0.0.1", other.Addr().String())
		p.taken <- struct{}{}
		p.admit(accepted(t, other).(*net.TCPConn))
		wantClosed(t, late)
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error) //nolint:errorlint // it comes from the connection itself
	return ok && timeout.Timeout()
}

// A client whose connections are all closed leaves no entry behind.
func TestPlacesForgetClosedClients(t *testing.T) {
	l, err := listenTCP(t.Context(), "127.0.0.1:0", bounds{most: 2, each: 1}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p := l.(*places)
	for range 10 {
		_ = dialFrom(t, "127.0.0.1", l.Addr().String())
		if err := accepted(t, l).Close(); err != nil {
			t.Fatal(err)
		}
	}
	p.mu.Lock()
	left := len(p.clients)
	p.mu.Unlock()
	if left != 0 {
		t.Errorf("%d clients are still listed", left)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("a closed listener accepts a connection")
	}
}
