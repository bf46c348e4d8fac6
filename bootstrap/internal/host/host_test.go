package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

func TestCheckReachNamesTheFolderThatIsClosed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // testing makes it with mode 0700
		t.Fatal(err)
	}
	closed := filepath.Join(dir, "closed")
	if err := os.MkdirAll(filepath.Join(closed, "state"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := CheckReach(filepath.Join(closed, "state")); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := CheckReach(filepath.Join(closed, "state")); err == nil || !strings.Contains(err.Error(), "chmod o+x "+closed) {
		t.Errorf("a folder that only root can reach: %v", err)
	}
}

func TestCapability(t *testing.T) {
	const status = "Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t000001fffeffffff\n" // all but 24, CAP_SYS_RESOURCE
	if capability(status, 24) {
		t.Error("found a capability that is not there")
	}
	if !capability(status, 21) {
		t.Error("did not find CAP_SYS_ADMIN")
	}
	if capability("", 21) {
		t.Error("found a capability in an empty status")
	}
}

func TestMountsBelowAreDeepestFirstAndLeaveNeighboursAlone(t *testing.T) {
	const mountinfo = `22 1 8:1 / / rw - ext4 /dev/vda rw
30 22 8:2 / /var/lib/bpa rw - ext4 /dev/vdb rw
31 30 0:40 / /var/lib/bpa/run/a rw - overlay overlay rw
32 31 0:41 / /var/lib/bpa/run/a/b\040c rw - tmpfs tmpfs rw
33 22 0:42 / /var/lib/bpa2/run rw - tmpfs tmpfs rw
`
	want := []string{"/var/lib/bpa/run/a/b c", "/var/lib/bpa/run/a"}
	if diff := cmp.Diff(want, mountsBelow(mountinfo, "/var/lib/bpa")); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
}

func TestControlGroupHierarchies(t *testing.T) {
	const mountinfo = `40 22 0:25 / /sys/fs/cgroup rw - tmpfs tmpfs rw
41 40 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
42 40 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
43 40 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
44 22 0:26 / /var/lib/x/rootfs/sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
`
	roots := cgroupMounts(mountinfo)
	want := []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"}
	if diff := cmp.Diff(want, roots); diff != "" {
		t.Errorf("hierarchies (-want +got):\n%s", diff)
	}
	left := unmountedHierarchies("9:perf_event:/\n8:cpu:/\n7:name=systemd:/\n0::/\n", roots)
	if diff := cmp.Diff([]string{"perf_event"}, left); diff != "" {
		t.Errorf("unmounted (-want +got):\n%s", diff)
	}
	if got := cgroupMounts("29 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n"); len(got) != 1 {
		t.Errorf("hierarchies of a pure v2 machine: %v", got)
	}
}

func TestOurGroupsAreFoundByName(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"kubepods/burstable", "nodes-0a1b2c3d-0000-1111-2222-0123456789ab", "nodes-of-someone", "system.slice"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{filepath.Join(root, "kubepods"), filepath.Join(root, "nodes-0a1b2c3d-0000-1111-2222-0123456789ab")}
	if diff := cmp.Diff(want, ourGroups([]string{root})); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if err := removeGroups(ourGroups([]string{root})); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(root, "*"))
	if len(left) != 2 {
		t.Errorf("left %v, want the two groups that are not ours", left)
	}
}

func TestWithoutOurRulesKeepsThoseOfOthers(t *testing.T) {
	const saved = `*nat
:PREROUTING ACCEPT [0:0]
:KUBE-SERVICES - [0:0]
:DOCKER - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A PREROUTING -j DOCKER
-A POSTROUTING -j CNI-HOSTPORT-MASQ
-A POSTROUTING -o eth0 -m comment --comment bpa-bootstrap -j DROP
COMMIT
`
	const want = `*nat
:PREROUTING ACCEPT [0:0]
:DOCKER - [0:0]
-A PREROUTING -j DOCKER
COMMIT
`
	if diff := cmp.Diff(want, withoutOurRules(saved)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func TestLinkNames(t *testing.T) {
	const text = "7: veth26a@if2: <BROADCAST> mtu 1500\n9: tap0: <BROADCAST> mtu 1500\n"
	if diff := cmp.Diff([]string{"veth26a", "tap0"}, linkNames(text)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestShimsAreOursBySocket(t *testing.T) {
	const socket = "/var/lib/bpa/run/containerd.sock"
	for name, c := range map[string]struct {
		args []string
		want bool
	}{
		"ours":            {[]string{"/var/lib/bpa/bin/containerd-shim-runc-v2", "-namespace", "k8s.io", "-address", socket}, true},
		"another runtime": {[]string{"/usr/bin/containerd-shim-runc-v2", "-address", "/run/containerd/containerd.sock"}, false},
		"not a shim":      {[]string{"/usr/bin/ctr", "-address", socket}, false},
	} {
		if got := (Process{Args: c.args}).IsShim(socket); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

func TestComponentsWorkOnThisMachinesState(t *testing.T) {
	l := layout.Layout{Root: "/var/lib/bpa"}
	for arg, want := range map[string]bool{
		"--config=/var/lib/bpa/etc/kubelet.yaml":      true,
		"--root=/var/lib/bpa/depot":                   true,
		"--data-dir=/tmp/test1/data/etcd":             false,
		"--data-dir=/var/lib/bpa/cache/it/data/etcd":  false,
		"--root=/var/lib/bpa/depot-of-another/folder": false,
	} {
		if got := mentions(l, arg); got != want {
			t.Errorf("%s: %t, want %t", arg, got, want)
		}
	}
}

func TestLessComparesNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"128", "8192", true}, {"8192", "8192", false}, {"65536", "8192", false}, {"0", "1", true}} {
		if got := less(c.a, c.b); got != c.want {
			t.Errorf("less(%s, %s) = %t", c.a, c.b, got)
		}
	}
}
