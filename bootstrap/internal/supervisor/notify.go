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

// notifySocket receives the sd_notify messages of one process. Its address is in the abstract
// namespace, so that no file must be removed and the length of the state folder's path does not
// matter. The kernel supplies the process id of the sender.
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
		return nil, fmt.Errorf("enable sender credentials on %s: %w", addr, err)
	}
	return &notifySocket{conn: conn, addr: addr}, nil
}

func (s *notifySocket) close() { s.conn.Close() }

// wait returns true when process pid has sent READY=1, or false when the socket is closed. It
// ignores messages of other processes.
func (s *notifySocket) wait(pid int) bool {
	message, control := make([]byte, 4096), make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	for {
		n, oobn, _, _, err := s.conn.ReadMsgUnix(message, control)
		if err != nil {
			return false
		}
		if sender(control[:oobn]) == pid && isReady(message[:n]) {
			return true
		}
	}
}

func isReady(message []byte) bool {
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
