package vip

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// folder has the configuration of keepalived, and the file address for the reset of the machine (package machine): both stay
// when the folder of Kubernetes is removed.
const folder = "/etc/bpa/keepalived"

// arguments are those of keepalived. Its files with process IDs are in /dev, which is new in each container: after a kill, it would
// find the ID of the former container in a volume, take itself for it, and end.
const arguments = "--dont-fork --log-console --vrrp --pid=" + pids + "/keepalived.pid --vrrp_pid=" + pids + "/vrrp.pid --use-file=" + folder + "/keepalived.conf"

const pids = "/dev"

// manifest is the static pod. A change of the configuration does not change it, so that the kubelet does not restart
// keepalived, which would move the address.
var manifest = `# Written by BPA.
apiVersion: v1
kind: Pod
metadata:
  name: bpa-keepalived
  namespace: kube-system
spec:
  hostNetwork: true
  dnsPolicy: Default
  priorityClassName: system-node-critical
  tolerations:
  - operator: Exists
  containers:
  - name: keepalived
    image: ` + contract.KeepalivedImage + `
    imagePullPolicy: IfNotPresent
    command: [keepalived, ` + strings.ReplaceAll(arguments, " ", ", ") + `]
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
        add: [NET_ADMIN, NET_RAW, NET_BROADCAST, SETGID, SETUID]
    resources:
      requests: {cpu: 20m, memory: 20Mi}
      limits: {memory: 100Mi}
    volumeMounts:
    - {name: config, mountPath: ` + folder + `, readOnly: true}
    - {name: run, mountPath: /run}
    - {name: tmp, mountPath: /tmp}
  volumes:
  - name: config
    hostPath: {path: ` + folder + `, type: Directory}
  - name: run
    emptyDir: {medium: Memory, sizeLimit: 1Mi}
  - name: tmp
    emptyDir: {medium: Memory, sizeLimit: 1Mi}
`

// common finds the processes of keepalived. The one whose parent is none of them gets the signals.
const common = `set -eu; umask 022; PATH="$PATH:/usr/sbin:/sbin"; d=` + folder + `; m=/etc/kubernetes/manifests/bpa-keepalived.yaml
ours() { tr "\000" " " <"/proc/$1/cmdline" 2>/dev/null | grep -q "^[^ ]*keepalived .*--use-file=$d/keepalived.conf"; }
main() { for p in /proc/[0-9]*; do p=${p#/proc/}; ours "$p" || continue
up=$(sed -n "s/^PPid:[^0-9]*//p" "/proc/$p/status" 2>/dev/null) || continue
ours "${up:-0}" || echo "$p"; done; }
`

// write writes the configuration and the manifest. A file has its name when it is whole. keepalived keeps the address while it
// reads the configuration again; it does so each time, because an earlier run may have been killed before that. An address that
// the machine has without BPA is of the site: a reset would remove it.
const write = `dev=$(ip -o -4 addr show to %[1]s/32 | sed -n "s/^[0-9]*: *\([^ ]*\) .*/\1/p" | head -n 1)
[ "$dev" ] || { echo "no network interface has the address %[1]s" >&2; exit 1; }
if [ ! -e "$d/address" ] && [ "$(ip -o -4 addr show to %[2]s/32)" ]; then echo "this machine has the address %[2]s already: write one that no machine has" >&2; exit 1; fi
mkdir -p "$d" "${m%%/*}"; echo %[2]s >"$d/address"
printf %%s %[3]s | base64 -d | sed "s/` + device + `/$dev/" >"$d/keepalived.conf.new"; mv -f "$d/keepalived.conf.new" "$d/keepalived.conf"
printf %%s %[4]s | base64 -d >"$d/pod.new"
if cmp -s "$d/pod.new" "$m"; then rm -f "$d/pod.new"; else cp "$d/pod.new" "${m%%/*}/.bpa-keepalived.new"; mv -f "${m%%/*}/.bpa-keepalived.new" "$m"; rm -f "$d/pod.new"; fi
for p in $(main); do kill -HUP "$p"; done
`

// stop ends keepalived, which gives the address up, and proves that it is gone. Without the configuration, the kubelet cannot
// start it again before it sees that the manifest is gone.
const stop = `[ -e "$d" ] || exit 0
rm -f "$m" "$d/keepalived.conf"; a=$(cat "$d/address")
held() { ip -o -4 addr show to "$a/32" | sed -n "s/^[0-9]*: *\([^ ]*\) .*/\1/p"; }
for try in 1 2 3 4 5 6 7 8 9 10; do
all=$(main); [ "$all" ] || break
for p in $all; do kill -TERM "$p" 2>/dev/null || true; done; sleep 0.5
done
for p in $(main); do kill -KILL "$p" 2>/dev/null || true; done
for l in $(held); do ip addr del "$a/32" dev "$l"; done
[ -z "$(held)" ] || { echo "the address $a is still on the machine" >&2; exit 1; }
`

// Write returns a script that gives control plane n its part of the address, or tells its keepalived about other planes, which
// are all control planes. It must run as root and has no single quote.
func Write(api *contract.API, n contract.Node, planes []contract.Node) (string, error) {
	conf, err := config(api, n, planes)
	if err != nil {
		return "", err
	}
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	own := netip.MustParseAddr(n.Address).Unmap()
	return common + fmt.Sprintf(write, own, api.Address, encode(conf), encode(manifest)), nil
}

// Stop returns a script that takes the address from a control plane that leaves. It changes nothing on another machine.
func Stop() string { return common + strings.TrimSpace(stop) + "\n" }
