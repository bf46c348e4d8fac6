package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

var (
	// ErrUnreachable: nothing answers, or what answers is not an SSH server that we can talk to. May go away.
	ErrUnreachable = errors.New("unreachable")
	// ErrDenied: the server refuses the user or the key.
	ErrDenied = errors.New("denied")
)

// KeyChangedError: the server shows another key than the pinned one. Both are fingerprints as ssh-keygen prints them.
type KeyChangedError struct {
	Want, Got string
}

func (e *KeyChangedError) Error() string {
	return fmt.Sprintf("its SSH host key is %s, at first contact it was %s", e.Got, e.Want)
}

// Target is where to connect and as whom.
type Target struct {
	Address string // IP address
	Port    int
	User    string
}

// HostPort is the target's address as net.Dial takes it.
func (t Target) HostPort() string { return net.JoinHostPort(t.Address, strconv.Itoa(t.Port)) }

// HostKey is a server's public key.
type HostKey = ssh.PublicKey

// Client is a connection to a host.
type Client struct {
	conn *ssh.Client
	key  HostKey
}

// HostKey is the key that the server has shown.
func (c *Client) HostKey() HostKey { return c.key }

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Dial connects within the context's time. The server must show the pinned key; nil stands for first contact and accepts any.
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
	if !stop() { // the context ended just now
		conn.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, context.Cause(ctx))
	}
	_ = raw.SetDeadline(time.Time{})
	return &Client{conn: ssh.NewClient(conn, channels, requests), key: check.seen}, nil
}

// hostKeyCheck remembers what the library's errors do not tell in types.
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
		return &KeyChangedError{Want: Fingerprint(h.pinned), Got: "of another kind"}
	case h.seen != nil && strings.Contains(err.Error(), "unable to authenticate"): // the library has no type for it
		return fmt.Errorf("%w: user %s may not log in with this key", ErrDenied, to.User)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: no SSH greeting in time", ErrUnreachable)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// algorithms asks the server for the key that is pinned: it may have others as well, which would look like a change.
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

// Fingerprint is a key as ssh-keygen -l prints it.
func Fingerprint(key HostKey) string { return ssh.FingerprintSHA256(key) }

// brief is what a person needs of a network error.
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
