package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
)

// socketPrefix marks a listen address as the path of a socket file.
const socketPrefix = "unix:"

// listenLocal listens on an address that only this machine can reach: a socket file (unix:PATH),
// which only the depot's own user can open, or a loopback address. It refuses any other address,
// since clients send the token unencrypted.
func listenLocal(ctx context.Context, address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, socketPrefix); ok {
		return listenFile(ctx, path)
	}
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if !resolved.IP.IsLoopback() {
		return nil, errors.New("the local listener is not encrypted: it must be on a loopback address or a socket file (unix:PATH)")
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", resolved.String())
}

func listenFile(ctx context.Context, path string) (net.Listener, error) {
	if err := removeDead(ctx, path); err != nil {
		return nil, err
	}
	before := syscall.Umask(0o177) // a chmod after Listen would be too late: others could open the socket for a moment
	defer syscall.Umask(before)
	return (&net.ListenConfig{}).Listen(ctx, "unix", path)
}

// removeDead removes the socket file that a killed depot left at path. It returns an error if
// another program listens there, or if path is not a socket.
func removeDead(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket: remove it or give another path", path)
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("another program listens on %s: stop that program or give another path", path), c.Close())
	}
	return os.Remove(path)
}
