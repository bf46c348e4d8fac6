package main

import (
	"errors"
	"net"
	"os"
)

// notify tells the supervisor about our state, by systemd's sd_notify protocol.
// Without NOTIFY_SOCKET nobody asked to be told.
func notify(state string) error {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return nil
	}
	// A leading @ means the abstract namespace; net understands it.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	_, err = conn.Write([]byte(state))
	return errors.Join(err, conn.Close())
}
