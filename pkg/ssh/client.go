package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

var (
	// ErrUnreachable reports that no SSH server answers, or that this client cannot communicate with
	// the server. The cause may be temporary.
	ErrUnreachable = errors.New("unreachable")
	// ErrDenied reports that the server rejects the user or the key.
	ErrDenied = errors.New("denied")
)

// KeyChangedError reports that the host key of the server is not the pinned one. Want is the
// fingerprint of the pinned key. Got is the fingerprint of the server's key, or "of another type"
// if the server has no key of the pinned type. The fingerprints have the form that ssh-keygen
// prints.
type KeyChangedError struct {
	Want, Got string
}

func (e *KeyChangedError) Error() string {
	return fmt.Sprintf("its SSH host key is %s, but at first contact it was %s", e.Got, e.Want)
}

// Target is the address and the user of a connection.
type Target struct {
	Address string // IP address
	Port    int
	User    string
}

// HostPort returns the target's address and port, in the form that net.Dial expects.
func (t Target) HostPort() string { return net.JoinHostPort(t.Address, strconv.Itoa(t.Port)) }

// HostKey is a server's public key.
type HostKey = ssh.PublicKey

// Client is a connection to a host.
type Client struct {
	conn *ssh.Client
	key  HostKey
}

// HostKey returns the key that the server has shown.
func (c *Client) HostKey() HostKey { return c.key }

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Dial connects to a target and logs in. It fails if the context ends before that. If pinned is not
// nil, the server must have this host key. If pinned is nil, this is the first contact with the
// host, and any key is accepted.
func Dial(ctx context.Context, to Target, key Key, pinned HostKey) (*Client, error) {
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "tcp", to.HostPort())
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrUnreachable, brief(err))
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()

	check := &hostKeyCheck{pinned: pinned}
	config := &ssh.ClientConfig{
		User:              to.User,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyCallback:   check.callback,
		HostKeyAlgorithms: algorithms(pinned),
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = raw.SetDeadline(deadline)
	}
	conn, channels, requests, err := ssh.NewClientConn(raw, to.HostPort(), config)
	if err != nil {
		raw.Close()
		return nil, check.explain(ctx, to, err)
	}
	if !stop() { // the context has just ended, and raw is closed
		conn.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, context.Cause(ctx))
	}
	_ = raw.SetDeadline(time.Time{})
	return &Client{conn: ssh.NewClient(conn, channels, requests), key: check.seen}, nil
}

// hostKeyCheck verifies the server's host key and remembers it. The SSH library has no error types
// for a changed key or a rejected login. The method explain therefore uses the keys to distinguish
// these two errors.
type hostKeyCheck struct {
	pinned HostKey
	seen   HostKey
}

func (h *hostKeyCheck) callback(_ string, _ net.Addr, shown ssh.PublicKey) error {
	h.seen = shown
	if h.pinned != nil && string(h.pinned.Marshal()) != string(shown.Marshal()) {
		return errors.New("another host key")
	}
	return nil
}

func (h *hostKeyCheck) explain(ctx context.Context, to Target, err error) error {
	var mismatch *ssh.AlgorithmNegotiationError
	switch {
	case h.pinned != nil && h.seen != nil && string(h.pinned.Marshal()) != string(h.seen.Marshal()):
		return &KeyChangedError{Want: Fingerprint(h.pinned), Got: Fingerprint(h.seen)}
	case h.pinned != nil && errors.As(err, &mismatch) && strings.Contains(err.Error(), "host key"):
		return &KeyChangedError{Want: Fingerprint(h.pinned), Got: "of another type"}
	case h.seen != nil && strings.Contains(err.Error(), "unable to authenticate"): // the library has no error type for a rejected login
		return fmt.Errorf("%w: user %s may not log in with this key", ErrDenied, to.User)
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded): // the context and the deadline of the connection end at the same time, and either may be noticed first
		return fmt.Errorf("%w: the SSH server did not answer in time", ErrUnreachable)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// algorithms returns the host key algorithms to request from the server. If a key is pinned, these
// are only the algorithms for its type. Otherwise a server that also has keys of other types could
// send one of those, and it would look like a changed key.
func algorithms(pinned HostKey) []string {
	if pinned == nil {
		return []string{
			ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
		}
	}
	if pinned.Type() == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{pinned.Type()}
}

// Fingerprint returns the SHA-256 fingerprint of a key, as ssh-keygen -l prints it.
func Fingerprint(key HostKey) string { return ssh.FingerprintSHA256(key) }

// brief returns a short description of a network error.
func brief(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to host"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "no answer in time"
	}
	return err.Error()
}
