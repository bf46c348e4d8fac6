package ssh_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
)

func pin(t *testing.T, uid, host, at string) ssh.Pin {
	key, _ := sshtest.NewKey(t)
	return ssh.Pin{UID: uid, Host: host, At: at, Key: key.PublicKey()}
}

// shown converts pins to comparable values.
func shown(pins ssh.Pins) []string {
	var out []string
	for _, p := range pins {
		out = append(out, p.UID+" "+p.Host+" "+p.At+" "+ssh.Fingerprint(p.Key))
	}
	return out
}

func TestPinsAsText(t *testing.T) {
	want := ssh.Pins{
		pin(t, "u1", "host-1", "10.60.0.5:22"), pin(t, "u2", "host-2", "10.60.0.6:2222"),
		pin(t, "u3", "host-3", "[fd00::7]:22"), pin(t, "u4", "host-4", "[fd00::8]:2222"),
	}
	text := "# by hand\n" + want.String() + "10.9.9.9 " + "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"
	got, err := ssh.ParsePins(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shown(want), shown(got)); diff != "" {
		t.Errorf("pins (-want +got):\n%s", diff)
	}
	if empty, err := ssh.ParsePins(""); err != nil || len(empty) != 0 {
		t.Errorf("ParsePins(\"\") = %v, %v", empty, err)
	}
	if _, err := ssh.ParsePins("10.0.0.1 ssh-ed25519 garbage u1 host\n"); err == nil {
		t.Error("a broken line is taken: its host would count as never seen")
	}
}

func TestPinsBelongToMachines(t *testing.T) {
	old := pin(t, "u1", "host-1", "10.60.0.5:22")
	neighbour := pin(t, "u2", "host-2", "10.60.0.6:22")
	pins := ssh.Pins{}.With(old).With(neighbour)

	moved := ssh.Pin{UID: "u1", Host: "host-1", At: "10.60.0.9:22", Key: old.Key}
	if diff := cmp.Diff(shown(ssh.Pins{moved, neighbour}), shown(pins.With(moved))); diff != "" {
		t.Errorf("after a new address (-want +got):\n%s", diff)
	}
	replaced := pin(t, "u7", "host-1", "10.60.0.5:22")
	after := pins.With(replaced)
	if diff := cmp.Diff(shown(ssh.Pins{replaced, neighbour}), shown(after)); diff != "" {
		t.Errorf("after a machine was replaced (-want +got):\n%s", diff)
	}
	if after.Of("u1") != nil || after.Of("u7") == nil || len(after.Only("u2", "u9")) != 1 {
		t.Error("the old machine's key is still pinned, or the new one's is not")
	}
}
