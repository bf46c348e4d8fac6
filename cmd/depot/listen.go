package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
)

// listenTCP takes at most so many connections at a time; more wait in the kernel until one ends.
func listenTCP(ctx context.Context, address string, most int) (net.Listener, error) {
	if most <= 0 {
		return nil, fmt.Errorf("--max-connections=%d lets nobody in", most)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &bounded{TCPListener: listener.(*net.TCPListener), places: make(chan struct{}, most), closed: make(chan struct{})}, nil
}

// bounded hands out connections that are still TCP connections to net/http, which sends files by the kernel then.
type bounded struct {
	*net.TCPListener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.places <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	c, err := b.AcceptTCP()
	if err != nil {
		<-b.places
		return nil, err
	}
	return &placed{TCPConn: c, leave: sync.OnceFunc(func() { <-b.places })}, nil
}

func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.TCPListener.Close()
}

type placed struct {
	*net.TCPConn
	leave func()
}

func (p *placed) Close() error {
	defer p.leave()
	return p.TCPConn.Close()
}

// socketPrefix is before the path of a socket file in a listen address.
const socketPrefix = "unix:"

// listenLocal listens where only this machine can knock: a socket file (unix:PATH, for the depot's own user) or a loopback address.
// Anything else is refused, since a secret would be readable on the way.
func listenLocal(ctx context.Context, address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, socketPrefix); ok {
		return listenFile(ctx, path)
	}
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if !resolved.IP.IsLoopback() {
		return nil, errors.New("the local door is not encrypted and must be on a loopback address or be a socket file (unix:PATH)")
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", resolved.String())
}

func listenFile(ctx context.Context, path string) (net.Listener, error) {
	if err := removeDead(ctx, path); err != nil {
		return nil, err
	}
	before := syscall.Umask(0o177) // nobody else may open it, not even for the moment before a chmod
	defer syscall.Umask(before)
	return (&net.ListenConfig{}).Listen(ctx, "unix", path)
}

// removeDead clears away the socket of a depot that was killed, and nothing else.
func removeDead(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is no socket", path)
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("another program listens on %s", path), c.Close())
	}
	return os.Remove(path)
}
