// Package sshtest is a small real SSH server on loopback for tests: its keys, users and commands are what the test says.
package sshtest

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Handler answers a command: it reads and writes the streams and returns the exit status.
type Handler func(command string, stdout, stderr io.Writer) int

// Server is an SSH server that runs until the test ends.
type Server struct {
	Address string
	Port    int

	listener net.Listener
	mu       sync.Mutex
	config   *ssh.ServerConfig
	handler  Handler
	commands []string
	conns    map[net.Conn]bool
}

// NewKey makes a key pair: for the library, and as an OpenSSH file.
func NewKey(t testing.TB) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Signer(t, private)
}

// Signer wraps a private key of any kind.
func Signer(t testing.TB, private crypto.Signer) (ssh.Signer, []byte) {
	t.Helper()
	signer, err := ssh.NewSignerFromSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

// Start serves user "root" with the given key, showing the given host keys.
func Start(t testing.TB, user ssh.PublicKey, handler Handler, hostKeys ...ssh.Signer) *Server {
	t.Helper()
	return StartAt(t, "127.0.0.1:0", user, handler, hostKeys...)
}

// StartAt is Start at an address on loopback.
func StartAt(t testing.TB, at string, user ssh.PublicKey, handler Handler, hostKeys ...ssh.Signer) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	number, _ := strconv.Atoi(port)
	s := &Server{Address: host, Port: number, listener: listener, handler: handler, conns: map[net.Conn]bool{}}
	s.Rekey(user, hostKeys...)
	var wait sync.WaitGroup
	wait.Go(func() { s.accept(&wait) })
	t.Cleanup(func() {
		s.Stop()
		wait.Wait()
	})
	return s
}

// Rekey gives the server other host keys, as a machine that was replaced has them.
func (s *Server) Rekey(user ssh.PublicKey, hostKeys ...ssh.Signer) {
	config := &ssh.ServerConfig{PublicKeyCallback: func(conn ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if conn.User() != "root" || string(key.Marshal()) != string(user.Marshal()) {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, nil
	}}
	for _, key := range hostKeys {
		config.AddHostKey(key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config = config
}

// Commands are what was run, in order.
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.commands...)
}

// Stop refuses new connections and breaks the others.
func (s *Server) Stop() {
	s.listener.Close()
	s.Disconnect()
}

// Disconnect breaks all connections.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		conn.Close()
	}
}

func (s *Server) accept(wait *sync.WaitGroup) {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = true
		config := s.config
		s.mu.Unlock()
		wait.Go(func() { s.serve(conn, config) })
	}
}

func (s *Server) serve(raw net.Conn, config *ssh.ServerConfig) {
	defer raw.Close()
	conn, channels, requests, err := ssh.NewServerConn(raw, config)
	if err != nil {
		return
	}
	defer conn.Close()
	go ssh.DiscardRequests(requests)
	for channel := range channels {
		switch channel.ChannelType() {
		case "session":
			go s.session(channel)
		case "direct-tcpip":
			go forward(channel)
		default:
			channel.Reject(ssh.UnknownChannelType, "no such channel")
		}
	}
}

func (s *Server) session(open ssh.NewChannel) {
	channel, requests, err := open.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	for request := range requests {
		if request.Type != "exec" {
			request.Reply(false, nil)
			continue
		}
		var exec struct{ Command string }
		if ssh.Unmarshal(request.Payload, &exec) != nil {
			return
		}
		request.Reply(true, nil)
		s.mu.Lock()
		s.commands = append(s.commands, exec.Command)
		s.mu.Unlock()
		status := s.handler(exec.Command, channel, channel.Stderr())
		channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(status)}))
		return
	}
}

func forward(open ssh.NewChannel) {
	var to struct {
		Host string
		Port uint32
		From string
		Via  uint32
	}
	if ssh.Unmarshal(open.ExtraData(), &to) != nil {
		open.Reject(ssh.ConnectionFailed, "unreadable")
		return
	}
	target, err := net.Dial("tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
	if err != nil {
		open.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer target.Close()
	channel, requests, err := open.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	go ssh.DiscardRequests(requests)
	go func() {
		io.Copy(target, channel)
		target.Close()
	}()
	io.Copy(channel, target)
}
