package main

import (
	"errors"
	"net"
	"os"
)

// notify reports the depot's state to the supervisor by systemd's sd_notify protocol. If
// NOTIFY_SOCKET is not set, no supervisor waits for the report, and notify does nothing.
func notify(state string) error {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return nil
	}
	// A leading @ means the abstract namespace; package net supports it.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	_, err = conn.Write([]byte(state))
	return errors.Join(err, conn.Close())
}
