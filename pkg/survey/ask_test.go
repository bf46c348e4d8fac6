package survey

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// says returns a server's commands: it has a card with this address and this mark.
func says(mac string, user contract.User) sshtest.Handler {
	return func(command string, stdout, _ io.Writer) int {
		if strings.Contains(command, "/sys/class/net") && strings.Contains(command, "perm_hwaddr") {
			fmt.Fprintf(stdout, "name machine\ncard eth0 %s\n", mac)
			return 0
		}
		if user != (contract.User{}) {
			fmt.Fprintf(stdout, "user %s\nkubernetes process kubelet (1)\n", base64.StdEncoding.EncodeToString([]byte(user.String())))
		}
		fmt.Fprintln(stdout, "end")
		return 0
	}
}

func TestServersAreAsked(t *testing.T) {
	const mac = "02:00:00:00:00:01"
	signer, file := sshtest.NewKey(t)
	_, wrongFile := sshtest.NewKey(t)
	host, _ := sshtest.NewKey(t)
	another, _ := sshtest.NewKey(t)
	key, err := ssh.ParseKey(file)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := ssh.ParseKey(wrongFile)
	if err != nil {
		t.Fatal(err)
	}
	edge := contract.User{Namespace: "a", Name: "edge", UID: "1"}
	listeners := sshtest.Listen(t, "127.0.0.1", "127.0.0.2")
	server := sshtest.StartOn(t, listeners[0], signer.PublicKey(), says(mac, edge), host)
	sshtest.StartOn(t, listeners[1], signer.PublicKey(), says("02:00:00:00:00:09", contract.User{}), another)
	logins := []Login{{User: "root", Port: server.Port, Key: wrong}, {User: "root", Port: server.Port, Key: key}}
	e := Expected{MACs: []string{mac}, Cluster: edge, Member: true}
	servers := []Server{
		{Addresses: []string{"127.0.0.1"}, Logins: logins, MACs: e.MACs, Pinned: host.PublicKey()},
		{Addresses: []string{"127.0.0.3", "127.0.0.2", "127.0.0.1"}, Logins: logins, MACs: e.MACs},
		{Addresses: []string{"127.0.0.2", "127.0.0.3"}, Logins: logins, MACs: e.MACs},
		{Addresses: []string{"127.0.0.3"}, Logins: logins, MACs: e.MACs},
		{Addresses: []string{"127.0.0.1"}, Logins: logins, MACs: e.MACs, Pinned: another.PublicKey()},
		{Addresses: []string{"127.0.0.1"}, Logins: logins[:1], MACs: e.MACs},
		{Addresses: []string{"127.0.0.1"}, MACs: e.MACs},
		{Logins: logins, MACs: e.MACs},
	}
	want := []Standing{Agrees, Agrees, Unknown, Silent, Unknown, Unknown, Unknown, Silent}
	got := make([]Standing, len(servers))
	AskAll(t.Context(), node.DialSSH, servers, time.Minute, func(i int, a Answer) {
		standing, why := Judge(e, a)
		if got[i] = standing; standing != want[i] {
			t.Errorf("server %d: %s (%s), want %s", i, standing, why, want[i])
		}
	})
}

// A server that accepts connections and says nothing must not hold up the others, nor the command.
func TestAServerThatHangsIsSilent(t *testing.T) {
	signer, file := sshtest.NewKey(t)
	host, _ := sshtest.NewKey(t)
	key, err := ssh.ParseKey(file)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	release := make(chan struct{})
	server := sshtest.Start(t, signer.PublicKey(), func(string, io.Writer, io.Writer) int { asked.Add(1); <-release; return 0 }, host)
	a := Ask(t.Context(), node.DialSSH, Server{Addresses: []string{server.Address}, Logins: []Login{{User: "root", Port: server.Port, Key: key}}, MACs: []string{"02:00:00:00:00:01"}}, time.Second)
	close(release)
	if standing, why := Judge(Expected{}, a); standing != Silent || asked.Load() != 1 {
		t.Errorf("%s: %s, %d commands", standing, why, asked.Load())
	}
}
