package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
)

// ExitError reports that a command ended with a status other than 0.
type ExitError struct {
	Status int
	Stderr string // the last 2000 bytes
}

func (e *ExitError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("exit status %d: %s", e.Status, e.Stderr), ": ")
}

// Output runs a command in the user's shell and returns its standard output. More than limit bytes
// are an error. A status other than 0 is an *ExitError. When the context ends, Output closes the
// whole connection, since a server may ignore a signal to the command, and returns an error, even if
// the command has just succeeded: the caller must not use the connection again.
func (c *Client) Output(ctx context.Context, command string, limit int) ([]byte, error) {
	return c.run(ctx, command, nil, limit)
}

// Send is like Output, and the command reads in from its standard input. If in fails, Send returns its
// error; the command then sees the end of its input, so it must not use an input whose end it cannot
// prove before Send has returned. Whether the command reads all of its input is its own decision, as in a shell:
// its exit status counts.
func (c *Client) Send(ctx context.Context, command string, in io.Reader, limit int) ([]byte, error) {
	source := &remembering{in: in}
	out, err := c.run(ctx, command, source, limit)
	if source.err != nil {
		return out, source.err
	}
	return out, err
}

// remembering is a reader that keeps its error.
type remembering struct {
	in  io.Reader
	err error
}

func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

func (c *Client) run(ctx context.Context, command string, stdin io.Reader, limit int) ([]byte, error) {
	session, err := c.conn.NewSession()
	if err != nil {
		return nil, fmt.Errorf("%w: open session: %w", ErrUnreachable, err)
	}
	defer session.Close()
	stdout, stderr := &bounded{limit: limit, end: session.Close}, &ending{limit: 2000}
	session.Stdout, session.Stderr, session.Stdin = stdout, stderr, stdin
	stop := context.AfterFunc(ctx, func() { c.Close() })

	if err = session.Start(command); err == nil {
		err = session.Wait()
		if stdin != nil && err == io.EOF { // the command ended with 0 before it had read all of stdin
			err = nil
		}
	}
	var exit *ssh.ExitError
	switch {
	case !stop(): // the connection is closed, or will be at once, even if the command has just succeeded
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, context.Cause(ctx))
	case stdout.over:
		return nil, fmt.Errorf("the command wrote more than %d bytes", limit)
	case err == nil:
		return stdout.data, nil
	case errors.As(err, &exit):
		return stdout.data, &ExitError{Status: exit.ExitStatus(), Stderr: strings.TrimSpace(string(stderr.data))}
	}
	return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// Dialer opens network connections.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// DialContext opens a connection from the host to an address, through the SSH connection.
func (c *Client) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return c.conn.DialContext(ctx, network, address)
}

// bounded is a writer that accepts at most limit bytes in total. A Write that would exceed the
// limit fails and ends the session. Otherwise the session would wait for a reader of the remaining
// output.
type bounded struct {
	data  []byte
	limit int
	over  bool
	end   func() error
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over || len(b.data)+len(p) > b.limit {
		b.over = true
		b.end()
		return 0, errors.New("too much output")
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

// ending is a writer that keeps the last limit bytes.
type ending struct {
	data  []byte
	limit int
}

func (e *ending) Write(p []byte) (int, error) {
	e.data = append(e.data, p...)
	if over := len(e.data) - e.limit; over > 0 {
		e.data = append(e.data[:0], e.data[over:]...)
	}
	return len(p), nil
}
