// Package sshtest is a small real SSH server on loopback for tests. The test chooses its keys, user
// and commands.
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

// Handler runs a command. It writes to the streams and returns the exit status. stdout is also an
// io.Reader, from which the command's input can be read.
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
	accepts  func(ssh.PublicKey) bool
}

// NewKey makes a private key. It returns the key and its OpenSSH file.
func NewKey(t testing.TB) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Signer(t, private)
}

// Signer converts a private key of any type to a signer and an OpenSSH file.
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

// Start starts a server with the given host keys. The server accepts user "root" with the given
// key.
func Start(t testing.TB, user ssh.PublicKey, handler Handler, hostKeys ...ssh.Signer) *Server {
	t.Helper()
	return StartOn(t, Listen(t, "127.0.0.1")[0], user, handler, hostKeys...)
}

// Listen listens on the same free port of each of the given loopback addresses.
func Listen(t testing.TB, addresses ...string) []net.Listener {
	t.Helper()
	const attempts = 100 // a port that is free at one address can be taken at another
	var err error
	for range attempts {
		var all []net.Listener
		if all, err = listen(addresses); err == nil {
			return all
		}
	}
	t.Fatalf("find a port that is free at %v: %v", addresses, err)
	return nil
}

func listen(addresses []string) ([]net.Listener, error) {
	var all []net.Listener
	port := "0"
	for _, address := range addresses {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, port))
		if err != nil {
			for _, open := range all {
				open.Close()
			}
			return nil, err
		}
		all = append(all, listener)
		_, port, _ = net.SplitHostPort(listener.Addr().String())
	}
	return all, nil
}

// StartOn is like Start, with a listener of the caller. The server closes the listener.
func StartOn(t testing.TB, listener net.Listener, user ssh.PublicKey, handler Handler, hostKeys ...ssh.Signer) *Server {
	t.Helper()
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

// Rekey changes the host keys of the server, as if the machine had been replaced.
func (s *Server) Rekey(user ssh.PublicKey, hostKeys ...ssh.Signer) {
	config := &ssh.ServerConfig{PublicKeyCallback: func(conn ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		s.mu.Lock()
		also := s.accepts
		s.mu.Unlock()
		if conn.User() == "root" && (string(key.Marshal()) == string(user.Marshal()) || also != nil && also(key)) {
			return nil, nil
		}
		return nil, io.ErrUnexpectedEOF
	}}
	for _, key := range hostKeys {
		config.AddHostKey(key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config = config
}

// AlsoAccept lets the server accept more keys than that of its user, as a machine whose authorized_keys changes.
func (s *Server) AlsoAccept(accepts func(ssh.PublicKey) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepts = accepts
}

// Commands returns the commands that clients have run, in order.
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.commands...)
}

// Stop stops accepting connections and closes the open ones.
func (s *Server) Stop() {
	s.listener.Close()
	s.Disconnect()
}

// Disconnect closes all open connections.
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
