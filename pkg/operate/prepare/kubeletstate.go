package prepare

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// stateScript removes the states of the CPU manager and of the memory manager if they are of another
// policy than the kubelet's configuration. The kubelet exits with such a state, and kubespray, which
// can change the policy in any run, leaves the state. A kubelet that has the policy, or a drop-in of its
// configuration, on its command line keeps its state: its policy is not known here then. The script must
// not contain a single quote or a backslash, because it becomes an argument in a systemd unit.
const stateScript = `c=/etc/kubernetes/kubelet-config.yaml; [ -e "$c" ] || c=/var/lib/kubelet/config.yaml; [ -r "$c" ] || exit 0; ` +
	`for m in cpu memory; do s=/var/lib/kubelet/${m}_manager_state; [ -e "$s" ] || continue; ` +
	`if grep -qsE -e "--(${m}-manager-policy|config-dir)[= ]" /etc/kubernetes/kubelet.env /var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet /etc/sysconfig/kubelet; then continue; fi; ` +
	`want=none; [ "$m" = cpu ] || want=None; ` +
	`while read -r k v rest || [ "$k" ]; do if [ "$k" = "${m}ManagerPolicy:" ]; then v=${v#[!A-Za-z]}; v=${v%[!A-Za-z]}; want=${v:-$want}; fi; done <"$c"; ` +
	`had=$(tr -d "[:space:]" <"$s" | grep -o "policyName.:.[A-Za-z]*"); had=${had##*[!A-Za-z]}; ` +
	`if [ "$had" ] && [ "$had" != "$want" ]; then rm -f "$s"; echo "BPA removed $s: its policy is $had, and that of the kubelet is $want"; fi; done; exit 0`

// stateDropIn is the content of session.KubeletDropIn. $ and % have a meaning in units. The kubelet starts even if the
// script fails.
var stateDropIn = "# Written by BPA.\n[Service]\nExecStartPre=-/bin/sh -c '" + strings.NewReplacer("$", "$$", "%", "%%").Replace(stateScript) + "'\n"

// equipKubelet writes the drop-in if $wanted is set or the node has a state already. It reloads systemd
// each time, because an earlier run may have been killed before that. The script must not contain a
// single quote. $UNIT is replaced by the drop-in in base64.
const equipKubelet = `set -eu; umask 022
unit=` + session.KubeletDropIn + `
[ "$wanted" ] || [ -e "$unit" ] || [ -e /var/lib/kubelet/cpu_manager_state ] || exit 0
mkdir -p "${unit%/*}"; printf %s $UNIT | base64 -d >"$unit.new"; mv -f "$unit.new" "$unit"
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi`

// stateLimit bounds the time of the script on one node.
const stateLimit = 2 * time.Minute

// cpuManagerPolicy is the variable of kubespray for the policy of the CPU manager.
const cpuManagerPolicy = "kubelet_cpu_manager_policy"

// keepStarting makes sure that the kubelet of a node starts after the playbook, also if the playbook
// changes the policy of its CPU manager.
func keepStarting(ctx context.Context, request contract.Request, conn node.Connection) error {
	ctx, cancel := context.WithTimeout(ctx, stateLimit)
	defer cancel()
	_, err := conn.Output(ctx, node.AsRoot(request, "sh -c '"+keepStartingScript(request)+"'"), 64<<10)
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%w: %w", session.ErrNoState, exit)
	}
	return err
}

// keepStartingScript returns equipKubelet for the variables of a request.
func keepStartingScript(request contract.Request) string {
	wanted := ""
	if _, plugins := request.PluginVars[cpuManagerPolicy]; plugins || request.SetsVar(cpuManagerPolicy) {
		wanted = "yes"
	}
	return "wanted=" + wanted + "\n" + strings.Replace(equipKubelet, "$UNIT", base64.StdEncoding.EncodeToString([]byte(stateDropIn)), 1)
}
