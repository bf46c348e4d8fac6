package supervisor

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

var notifySerial atomic.Int64

// notifySocket listens for one process's sd_notify messages. Its address is abstract: nothing to clean up, and no
// limit on the length of the state folder's path. The kernel vouches for the sender's process id.
type notifySocket struct {
	conn *net.UnixConn
	addr string
}

func listenNotify(name string) (*notifySocket, error) {
	addr := fmt.Sprintf("@bpa/%d/%s/%d", os.Getpid(), name, notifySerial.Add(1))
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: addr, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listen for %s's readiness: %w", name, err)
	}
	raw, err := conn.SyscallConn()
	if err == nil {
		var inner error
		if err = raw.Control(func(fd uintptr) { inner = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) }); err == nil {
			err = inner
		}
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("ask for credentials on %s: %w", addr, err)
	}
	return &notifySocket{conn: conn, addr: addr}, nil
}

func (s *notifySocket) close() { s.conn.Close() }

// wait returns true when process pid has said READY=1, false when the socket was closed.
func (s *notifySocket) wait(pid int) bool {
	message, control := make([]byte, 4096), make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	for {
		n, oobn, _, _, err := s.conn.ReadMsgUnix(message, control)
		if err != nil {
			return false
		}
		if sender(control[:oobn]) == pid && saysReady(message[:n]) {
			return true
		}
	}
}

func saysReady(message []byte) bool {
	for line := range bytes.Lines(message) {
		if strings.TrimSpace(string(line)) == "READY=1" {
			return true
		}
	}
	return false
}

func sender(control []byte) int {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for i := range messages {
		if cred, err := unix.ParseUnixCredentials(&messages[i]); err == nil {
			return int(cred.Pid)
		}
	}
	return 0
}
