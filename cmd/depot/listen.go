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
