package upgrade_test

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/upgrade"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
)

// patchPrograms are what PatchScript runs. $M is the directory of the machine.
var patchPrograms = map[string]string{
	"dpkg-query": `cat "$M/packages"`,
	"dpkg":       `echo "dpkg $*" >>"$M/apt.log"`,
	"apt-get": `echo "apt-get $*" >>"$M/apt.log"
[ ! -e "$M/locked" ] || { echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 77 (apt-get)"; exit 100; }
case "$*" in
*" update"*) [ ! -e "$M/offline" ] || { echo "E: Failed to fetch http://depot/Release"; exit 100; };;
*" upgrade") [ ! -e "$M/broken" ] || { echo "dpkg: error processing package openssl"; exit 100; }
  if [ -e "$M/newer" ]; then mv "$M/newer" "$M/packages"; fi
  if [ -e "$M/kernel" ]; then mkdir -p "$M/boot"; mv "$M/kernel" "$M/boot/vmlinuz-6.1.0-40-amd64"; fi
  if [ -e "$M/libc" ]; then mv "$M/libc" "$M/run/reboot-required"; fi;;
*) exit 2;; esac`,
}

// newPatching returns a cluster whose nodes are patched, and keep their version.
func newPatching(t *testing.T, masters, workers int, nodes ...string) *upgrading {
	u := newUpgrading(t, false, masters, workers, nodes...)
	r := &u.In.Request
	r.KubernetesVersion, r.Upgrade.Path, r.Upgrade.Patch = "1.34.3", []string{"1.34.3"}, "2026-11-22T16:00:00Z"
	u.In.BootLimit = 5 * time.Second
	u.Render()
	for name, text := range patchPrograms {
		u.Write("bin/"+name, "#!/bin/sh\nset -eu\n"+text+"\n")
	}
	for i := range u.Machines {
		at := fmt.Sprintf("machine-%d/", i+1)
		u.Write(at+"packages", "openssl:amd64 3.0.16-1 ii \nnano:amd64 7.2-1 ii \nold:amd64 1.0 rc \n")
		u.Write(at+"proc/stat", fmt.Sprintf("cpu 1\nbtime %d\n", time.Now().Add(-time.Hour).Unix()))
		u.Write(at+"proc/sys/kernel/random/boot_id", "boot-1\n")
		u.Write(at+"usr/bin/apt-get", "")
		u.Write(at+"usr/bin/dpkg-query", "")
		u.Write(at+"run/.keep", "")
	}
	u.rebooting, u.onReboot = map[int]int{}, func(i int) int {
		u.rebooting[i] = 2
		return 0
	}
	return u
}

// patches really runs the scripts of a patch, on a machine that boots again when it is asked to.
func (u *upgrading) patches(i int, command string, stdout, stderr io.Writer) (int, bool) {
	script := strings.TrimSuffix(strings.TrimPrefix(command, "sh -c '"), "'")
	at := filepath.Join(u.Dir, fmt.Sprintf("machine-%d", i+1))
	switch script {
	case upgrade.PatchScript:
		if status := u.Change("patch "+u.Machines[i].Name, true); status != 0 {
			return status, true
		}
		return u.Sh(i, strings.ReplaceAll(script, "/boot/", at+"/boot/"), stdout, stderr), true
	case upgrade.SupportsPackages:
		return u.Sh(i, strings.ReplaceAll(script, "/usr/bin/", at+"/usr/bin/"), stdout, stderr), true
	case "systemctl reboot":
		if status := u.Change("reboot "+u.Machines[i].Name, true); status != 0 {
			return status, true
		}
		u.Mu.Lock()
		defer u.Mu.Unlock()
		return u.onReboot(i), true
	case upgrade.BootScript:
		u.Mu.Lock()
		defer u.Mu.Unlock()
		if u.rebooting[i] > 0 {
			if u.rebooting[i]--; u.rebooting[i] == 0 {
				u.boots(i)
			}
		}
		return u.Sh(i, script, stdout, stderr), true
	}
	return 0, false
}

// boots lets a machine boot.
func (u *upgrading) boots(i int) {
	at := fmt.Sprintf("machine-%d/", i+1)
	u.Write(at+"proc/sys/kernel/random/boot_id", "boot-2\n")
	u.Write(at+"proc/stat", fmt.Sprintf("cpu 1\nbtime %d\n", time.Now().Unix()+1))
	_ = u.Sh(i, "rm -f /run/reboot-required", io.Discard, io.Discard)
}

// newer lets the depot have a newer openssl and a new package for a machine.
func (u *upgrading) newer(i int) {
	u.Write(fmt.Sprintf("machine-%d/newer", i+1), "openssl:amd64 3.0.17-1 ii \nnano:amd64 7.2-1 ii \nlinux-image-6.1.0-40:amd64 6.1.0-40 ii \nold:amd64 1.0 rc \n")
}

// expectPatched checks the patch level of the cluster, and of nodes that have their own.
func (u *upgrading) expectPatched(cluster string, want map[string]string) {
	u.T.Helper()
	record, got := u.Now(), map[string]string{}
	for _, n := range record.Nodes {
		if n.Patched != "" {
			got[n.Name] = n.Patched
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || record.Patched != cluster {
		u.T.Errorf("the cluster has the patch level %q, nodes with another one (-want +got):\n%s\n%s", record.Patched, diff, &u.Log)
	}
}

// expectHalf checks which nodes the record has as half patched.
func (u *upgrading) expectHalf(names ...string) {
	u.T.Helper()
	var got []string
	for _, n := range u.Now().Nodes {
		if n.Target != nil {
			got = append(got, n.Name)
		}
	}
	if diff := cmp.Diff(names, got); diff != "" {
		u.T.Errorf("half changed nodes (-want +got):\n%s\n%s", diff, &u.Log)
	}
}

// setPatched stores the patch levels of nodes in the record.
func (u *upgrading) setPatched(levels map[string]string) {
	record := u.Now()
	for i, n := range record.Nodes {
		record.Nodes[i].Patched = levels[n.Name]
	}
	u.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(u.T, record))
}

// sorted sorts the patches and reboots among the changes, because nodes are patched in parallel.
func (u *upgrading) sorted() {
	first := slices.IndexFunc(u.Did, func(what string) bool { return strings.HasPrefix(what, "patch ") })
	last := first
	for last >= 0 && last < len(u.Did) && (strings.HasPrefix(u.Did[last], "patch ") || strings.HasPrefix(u.Did[last], "reboot ")) {
		last++
	}
	if first >= 0 {
		slices.Sort(u.Did[first:last])
	}
}
