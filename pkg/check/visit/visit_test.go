package visit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/check"
	"github.com/akraino-icn/bpa/pkg/check/checktest"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// shell runs commands on this machine, with the input of the client. As below sshd, a bash would read .bashrc, and that of this
// user takes long.
func shell(t testing.TB) sshtest.Handler {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte("sleep 30\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SSH_CLIENT=127.0.0.1 1 22", "SSH_CONNECTION=127.0.0.1 1 127.0.0.1 22"}
	return func(command string, stdout, stderr io.Writer) int { return runIn(env, command, stdout, stderr) }
}

func runIn(env []string, command string, stdout, stderr io.Writer) int {
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdout.(io.Reader), stdout, stderr
	cmd.WaitDelay = time.Second // the input ends only with the connection
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		return exit.ExitCode()
	} else if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		fmt.Fprintln(stderr, err)
		return 255
	}
	return 0
}

// site starts SSH servers at 127.0.9.N with these commands, and returns an Input with them.
func site(t testing.TB, n int, handler func(i int) sshtest.Handler) (check.Input, []Host, []*sshtest.Server) {
	t.Helper()
	signer, file := sshtest.NewKey(t)
	hostKey, _ := sshtest.NewKey(t)
	key, err := ssh.ParseKey(file)
	if err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for i := range n {
		addresses = append(addresses, fmt.Sprintf("127.0.9.%d", i+1))
	}
	in := check.Input{NetworkPlugin: "flannel", ProxyMode: "iptables", KubernetesVersion: "1.35.4"}
	var hosts []Host
	var servers []*sshtest.Server
	for i, listener := range sshtest.Listen(t, addresses...) {
		server := sshtest.StartOn(t, listener, signer.PublicKey(), handler(i), hostKey)
		servers = append(servers, server)
		in.Nodes = append(in.Nodes, check.Node{Name: fmt.Sprintf("host-%d", i+1), Address: addresses[i]})
		hosts = append(hosts, Host{Addresses: []string{addresses[i]}, Logins: []Login{{User: "root", Port: server.Port, Key: key}}, Pinned: hostKey.PublicKey()})
	}
	return in, hosts, servers
}

// TestTheRealScript runs the script on this machine, as three hosts.
func TestTheRealScript(t *testing.T) {
	in, hosts, _ := site(t, 3, func(int) sshtest.Handler { return shell(t) })
	busy, err := net.Listen("tcp", "127.0.0.1:10259") // it is free, or in use already
	if err == nil {
		defer busy.Close()
	}
	begin := time.Now()
	answers := All(t.Context(), node.DialSSH, in, hosts, time.Minute, nil)
	t.Logf("3 hosts on one machine: %s", time.Since(begin).Round(time.Millisecond))
	uname, err := exec.Command("uname", "-r").Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if a.Err != nil {
			t.Fatalf("host %d: %v", i, a.Err)
		}
		f := a.Facts
		if f.Kernel != strings.TrimSpace(string(uname)) || f.CPUs == 0 || f.Memory == 0 || f.CgroupFS == "" || f.UID != fmt.Sprint(os.Getuid()) || len(f.Features) < 10 {
			t.Errorf("host %d: %+v", i, f)
		}
		for _, path := range []string{"/var/lib/containerd", "/var/lib/etcd", "/var/log"} {
			if d := f.Disks[path]; d.Size == 0 || d.Free > d.Size || d.Point == "" || len(d.Options) == 0 {
				t.Errorf("host %d: %s is %+v", i, path, d)
			}
		}
		if f.UID == "0" && len(f.Fsync) == 0 { // a slow disk has fewer than 200
			t.Errorf("host %d: %d writes", i, len(f.Fsync))
		}
		if want := 2 * 5; len(f.Knocks) != want { // 4 ports of TCP and one of UDP at each peer
			t.Errorf("host %d: %d attempts at ports, want %d: %v", i, len(f.Knocks), want, f.Knocks)
		}
		for knock, state := range f.Knocks {
			if state != "refused" && state != "open" && !(knock.Protocol == "udp" && state == "silent") {
				t.Errorf("host %d: %+v is %s", i, knock, state)
			}
		}
	}
	// All three are this machine, so that its identities are there three times, and its clock agrees.
	count := map[string]int{}
	for _, f := range check.Judge(in, answers) {
		count[f.ID]++
	}
	for _, id := range []string{"machine-id", "hostname", "ports-free"} {
		if count[id] != 3 {
			t.Errorf("%s: %d findings", id, count[id])
		}
	}
	for _, id := range []string{"ssh", "answer", "clock", "clock-drift", "ports-reachable"} {
		if count[id] != 0 {
			t.Errorf("%s: %d findings", id, count[id])
		}
	}
}

// TestSudo: a user who is not root becomes root if sudo asks for no password. id and sudo are fakes: a test has no second user.
func TestSudo(t *testing.T) {
	for name, want := range map[string]string{"exit 1": "1000", `[ "$1" = -n ] || exit 1; shift; SUDONE=1 exec "$@"`: "0"} {
		dir := t.TempDir()
		for program, body := range map[string]string{"sudo": name, "id": `if [ "$SUDONE" ]; then echo 0; else echo 1000; fi`} {
			if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		env := []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir}
		in, hosts, _ := site(t, 1, func(int) sshtest.Handler {
			return func(command string, stdout, stderr io.Writer) int { return runIn(env, command, stdout, stderr) }
		})
		answers := All(t.Context(), node.DialSSH, in, hosts, time.Minute, nil)
		if got := answers[0].Facts.UID; answers[0].Err != nil || got != want {
			t.Errorf("sudo is %q: the user is %q, want %q: %v", name, got, want, answers[0].Err)
		}
		refused := slices.ContainsFunc(check.Judge(in, answers), func(f check.Finding) bool { return f.ID == "sudo" })
		if refused != (want == "1000") {
			t.Errorf("sudo is %q: there is a finding: %v", name, refused)
		}
	}
}

// TestHostsThatDoNotAnswer: each one is named, and none holds up the others.
func TestHostsThatDoNotAnswer(t *testing.T) {
	release := make(chan struct{})
	in, hosts, servers := site(t, 6, func(i int) sshtest.Handler {
		return func(_ string, stdout, _ io.Writer) int {
			switch i {
			case 1:
				<-release
			case 2:
				for range 1000 {
					if _, err := stdout.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
						break
					}
				}
			case 3:
				fmt.Fprintln(stdout, "clock 1\nThis account is not available.")
				return 1
			default:
				return checktest.Host(i+1, nil)("", stdout, io.Discard)
			}
			return 0
		}
	})
	defer close(release)
	another, _ := sshtest.NewKey(t)
	servers[4].Rekey(hosts[4].Logins[0].Key.PublicKey(), another)
	servers[5].Stop()
	hosts[0].Addresses = []string{"127.0.9.99", "127.0.9.1"} // nothing answers at the first
	_, wrongFile := sshtest.NewKey(t)
	wrong, err := ssh.ParseKey(wrongFile)
	if err != nil {
		t.Fatal(err)
	}
	hosts[0].Logins = append([]Login{{User: "root", Port: hosts[0].Logins[0].Port, Key: wrong}}, hosts[0].Logins...)
	var last int
	answers := All(t.Context(), node.DialSSH, in, hosts, 2*time.Second, func(n, _ int) { last = n })
	if last != 6 {
		t.Errorf("done was called up to %d", last)
	}
	want := []string{"", check.ErrIncomplete.Error(), check.ErrIncomplete.Error(), check.ErrIncomplete.Error(), "host key", "connection refused"}
	for i, a := range answers {
		if (a.Err == nil) != (want[i] == "") || a.Err != nil && !strings.Contains(a.Err.Error(), want[i]) {
			t.Errorf("host %d: %v, want %q", i+1, a.Err, want[i])
		}
	}
	if !strings.Contains(answers[2].Err.Error(), "more than") {
		t.Errorf("too much output: %v", answers[2].Err)
	}
	if n := len(servers[4].Commands()); n != 0 {
		t.Errorf("a host with another key has got %d commands", n)
	}
}

// TestNothingIsLeft: the script removes its folder when it ends, and when its connection breaks in between.
func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	script := strings.ReplaceAll(check.Script(check.Input{Nodes: []check.Node{{Name: "a"}}}, 0), "/var/lib/etcd", dir+"/etcd")
	script = strings.ReplaceAll(script, "-lt 200 ]", "-lt 30 ]")
	for _, cut := range []bool{false, true} {
		cmd := exec.Command("sh", "-s")
		cmd.Stdin = strings.NewReader(script)
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = in
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		in.Close()
		buffer, seen := make([]byte, 512), ""
		for {
			n, err := out.Read(buffer)
			seen += string(buffer[:n])
			if err != nil || cut && strings.Contains(seen, "fsync ") {
				break
			}
		}
		if !strings.Contains(seen, "fsync ") {
			t.Fatalf("it has measured nothing:\n%s", seen)
		}
		out.Close()
		_ = cmd.Wait() // its status is that of a broken pipe
		if left, _ := filepath.Glob(dir + "/.*"); len(left) > 0 {
			t.Errorf("cut %v: left are %v", cut, left)
		}
	}
}

// TestInterrupted: the command ends at once.
func TestInterrupted(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	var asked atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	in, hosts, _ := site(t, 2, func(int) sshtest.Handler {
		return func(string, io.Writer, io.Writer) int {
			if asked.Add(1) == 2 {
				cancel()
			}
			<-release
			return 0
		}
	})
	for i, a := range All(ctx, node.DialSSH, in, hosts, time.Hour, nil) {
		if a.Err == nil {
			t.Errorf("host %d has answered", i)
		}
	}
}

// BenchmarkHosts asks SSH servers in this process. Their answers are recorded ones.
func BenchmarkHosts(b *testing.B) {
	for _, n := range []int{5, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in, hosts, _ := site(b, n, func(i int) sshtest.Handler { return checktest.Host(i%9+1, nil) })
			for b.Loop() {
				answers := All(b.Context(), node.DialSSH, in, hosts, time.Minute, nil)
				if i := slices.IndexFunc(answers, func(a check.Answer) bool { return a.Err != nil }); i >= 0 {
					b.Fatal(answers[i].Err)
				}
				check.Judge(in, answers)
			}
		})
	}
}

// BenchmarkRealScript runs the real script as several hosts, all on this machine.
func BenchmarkRealScript(b *testing.B) {
	for _, n := range []int{5, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in, hosts, _ := site(b, n, func(int) sshtest.Handler { return shell(b) })
			for b.Loop() {
				answers := All(b.Context(), node.DialSSH, in, hosts, 2*time.Minute, nil)
				if i := slices.IndexFunc(answers, func(a check.Answer) bool { return a.Err != nil }); i >= 0 {
					b.Fatal(answers[i].Err)
				}
				check.Judge(in, answers)
			}
		})
	}
}
