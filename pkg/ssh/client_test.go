package ssh_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
)

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func echo(command string, stdout, stderr io.Writer) int {
	switch command {
	case "fail":
		fmt.Fprintln(stderr, strings.Repeat("noise ", 1000)+"disk is full")
		return 3
	case "flood":
		for range 1000 {
			if _, err := stdout.Write(make([]byte, 10_000)); err != nil {
				return 1
			}
		}
		return 0
	}
	fmt.Fprintf(stdout, "ran %s", command)
	return 0
}

func TestOutput(t *testing.T) {
	user, file := sshtest.NewKey(t)
	host, _ := sshtest.NewKey(t)
	server := sshtest.Start(t, user.PublicKey(), echo, host)
	key, err := ssh.ParseKey(file)
	if err != nil {
		t.Fatal(err)
	}
	client, err := ssh.Dial(soon(t), ssh.Target{Address: server.Address, Port: server.Port, User: "root"}, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if got, want := ssh.Fingerprint(client.HostKey()), ssh.Fingerprint(host.PublicKey()); got != want {
		t.Errorf("host key %s, want %s", got, want)
	}
	if out, err := client.Output(soon(t), "uptime", 100); err != nil || string(out) != "ran uptime" {
		t.Errorf("Output() = %q, %v", out, err)
	}
	var exit *ssh.ExitError
	if _, err := client.Output(soon(t), "fail", 100); !errors.As(err, &exit) || exit.Status != 3 || !strings.HasSuffix(exit.Stderr, "disk is full") || len(exit.Stderr) > 2000 {
		t.Errorf("Output(fail) = %v", err)
	}
	if out, err := client.Output(soon(t), "flood", 5000); err == nil || out != nil {
		t.Errorf("Output(flood) = %d bytes, %v; want it refused", len(out), err)
	}
}

// Send gives the command its input to the end, and reports an input that breaks even if the command
// succeeds with the part that it has read. A command that does not read its input does not block, and its exit status
// counts.
func TestSend(t *testing.T) {
	user, file := sshtest.NewKey(t)
	host, _ := sshtest.NewKey(t)
	count := func(command string, stdout, stderr io.Writer) int {
		if command != "count" {
			return echo(command, stdout, stderr)
		}
		n, err := io.Copy(io.Discard, stdout.(io.Reader))
		fmt.Fprintf(stdout, "%d bytes, %v", n, err)
		return 0
	}
	server := sshtest.Start(t, user.PublicKey(), count, host)
	key, err := ssh.ParseKey(file)
	if err != nil {
		t.Fatal(err)
	}
	client, err := ssh.Dial(soon(t), ssh.Target{Address: server.Address, Port: server.Port, User: "root"}, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const size = 5 << 20 // more than the window of a channel
	if out, err := client.Send(soon(t), "count", strings.NewReader(strings.Repeat("x", size)), 100); err != nil || string(out) != fmt.Sprintf("%d bytes, <nil>", size) {
		t.Errorf("Send() = %q, %v", out, err)
	}
	broken := errors.New("the source is broken")
	if _, err := client.Send(soon(t), "count", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)), 100); !errors.Is(err, broken) {
		t.Errorf("Send() with a broken input = %v", err)
	}
	var exit *ssh.ExitError
	if _, err := client.Send(soon(t), "fail", strings.NewReader(strings.Repeat("x", size)), 100); !errors.As(err, &exit) || exit.Status != 3 {
		t.Errorf("Send(fail) = %v", err)
	}
	if out, err := client.Send(soon(t), "true", strings.NewReader(strings.Repeat("x", size)), 100); err != nil || string(out) != "ran true" {
		t.Errorf("Send(true) = %q, %v", out, err)
	}
}

func TestDialErrors(t *testing.T) {
	user, _ := sshtest.NewKey(t)
	stranger, _ := sshtest.NewKey(t)
	host, _ := sshtest.NewKey(t)
	other, _ := sshtest.NewKey(t)
	server := sshtest.Start(t, user.PublicKey(), echo, host)
	at := ssh.Target{Address: server.Address, Port: server.Port, User: "root"}
	silent := listen(t)
	down := listen(t)
	down.Close()

	for _, tc := range []struct {
		name   string
		to     ssh.Target
		key    ssh.Key
		pinned ssh.HostKey
		want   error
		says   string
	}{
		{"another key", at, stranger, nil, ssh.ErrDenied, "user root"},
		{"another user", ssh.Target{Address: at.Address, Port: at.Port, User: "debian"}, user, nil, ssh.ErrDenied, "user debian"},
		{"nothing listens", target(down), user, nil, ssh.ErrUnreachable, "connection refused"},
		{"no greeting", target(silent), user, nil, ssh.ErrUnreachable, "in time"},
		{"changed host key", at, user, other.PublicKey(), nil, ssh.Fingerprint(other.PublicKey())},
		{"changed host key comes before a denied user", at, stranger, other.PublicKey(), nil, ssh.Fingerprint(host.PublicKey())},
		{"changed type of host key", at, user, ecdsaKey(t).PublicKey(), nil, "of another type"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			_, err := ssh.Dial(ctx, tc.to, tc.key, tc.pinned)
			var changed *ssh.KeyChangedError
			if tc.want != nil && !errors.Is(err, tc.want) || tc.want == nil && !errors.As(err, &changed) {
				t.Fatalf("Dial() = %v, want %v", err, tc.want)
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %q does not contain %q", err, tc.says)
			}
		})
	}
}

// The client requests the pinned type of key from a server with several host keys.
func TestDialRequestsThePinnedKeyType(t *testing.T) {
	user, _ := sshtest.NewKey(t)
	host, _ := sshtest.NewKey(t)
	ecdsa := ecdsaKey(t)
	server := sshtest.Start(t, user.PublicKey(), echo, host, ecdsa)
	client, err := ssh.Dial(soon(t), ssh.Target{Address: server.Address, Port: server.Port, User: "root"}, user, ecdsa.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
}

func TestOutputEndsWithContext(t *testing.T) {
	user, _ := sshtest.NewKey(t)
	host, _ := sshtest.NewKey(t)
	started, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	server := sshtest.Start(t, user.PublicKey(), func(string, io.Writer, io.Writer) int {
		close(started)
		<-release
		return 0
	}, host)
	client, err := ssh.Dial(soon(t), ssh.Target{Address: server.Address, Port: server.Port, User: "root"}, user, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(soon(t))
	go func() {
		<-started
		cancel()
	}()
	if _, err := client.Output(ctx, "hang", 10); !errors.Is(err, ssh.ErrUnreachable) || !errors.Is(err, context.Canceled) {
		t.Errorf("Output() = %v, want it given up", err)
	}
}

// A command that ends at the same time as its context: either it succeeds and the connection stays open, or there is
// an error.
func TestOutputThatEndsAsItsContext(t *testing.T) {
	user, _ := sshtest.NewKey(t)
	host, _ := sshtest.NewKey(t)
	for range 100 {
		ctx, cancel := context.WithCancel(soon(t))
		server := sshtest.Start(t, user.PublicKey(), func(command string, _, _ io.Writer) int {
			if command == "cancel" {
				cancel()
			}
			return 0
		}, host)
		client, err := ssh.Dial(soon(t), ssh.Target{Address: server.Address, Port: server.Port, User: "root"}, user, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := client.Output(ctx, "cancel", 100); err != nil {
			continue
		}
		if _, err := client.Output(soon(t), "true", 100); err != nil {
			t.Fatalf("a command succeeded, and the next one found its connection closed: %v", err)
		}
	}
}

func TestTunnel(t *testing.T) {
	user, _ := sshtest.NewKey(t)
	host, _ := sshtest.NewKey(t)
	server := sshtest.Start(t, user.PublicKey(), echo, host)
	inner := listen(t)
	go func() {
		conn, err := inner.Accept()
		if err == nil {
			fmt.Fprint(conn, "hello")
			conn.Close()
		}
	}()
	client, err := ssh.Dial(soon(t), ssh.Target{Address: server.Address, Port: server.Port, User: "root"}, user, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := client.DialContext(soon(t), "tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(conn); err != nil || string(said) != "hello" {
		t.Errorf("through the tunnel: %q, %v", said, err)
	}
}

func TestParseKeyDoesNotQuoteTheKey(t *testing.T) {
	if _, err := ssh.ParseKey([]byte("very-secret-text")); err == nil || strings.Contains(err.Error(), "secret-text") {
		t.Errorf("ParseKey() = %v", err)
	}
}

func ecdsaKey(t *testing.T) ssh.Key {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, _ := sshtest.Signer(t, private)
	return signer
}

func listen(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func target(l net.Listener) ssh.Target {
	return ssh.Target{Address: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, User: "root"}
}
