package prepare

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// nameScript lets a node resolve its own name without a DNS server: kubespray gives the machine this name, and
// since v2.31 writes it nowhere else. If the site's DNS server does not answer, each sudo and each gathering of facts
// would wait for it for five seconds or more. The script changes nothing if the name can be resolved. The markers
// are those of older releases of kubespray, which replace the block, and of a reset, which removes it. The script
// must not contain a single quote. $NAME and $ADDRESS are replaced by those of the node.
const nameScript = `set -eu; hosts=/etc/hosts
grep -qsE "^[^#]*[[:space:]]$NAME([[:space:]]|\$)" $hosts && exit 0
grep -qs "^# Ansible inventory hosts BEGIN" $hosts && exit 0
timeout 1 getent ahosts $NAME >/dev/null 2>&1 && exit 0
[ ! -s $hosts ] || [ -z "$(tail -c 1 $hosts)" ] || echo >>$hosts
printf "%s\n" "# Ansible inventory hosts BEGIN" "$ADDRESS $NAME" "# Ansible inventory hosts END" >>$hosts`

// nameLimit bounds the time of the script on one node.
const nameLimit = time.Minute

// resolveOwnName lets a node resolve its own name, and returns a note for the log if it cannot be done. The
// playbook works without it, only slower.
func resolveOwnName(ctx context.Context, request contract.Request, conn node.Connection, n contract.Node) (note string, err error) {
	ctx, cancel := context.WithTimeout(ctx, nameLimit)
	defer cancel()
	_, err = conn.Output(ctx, node.AsRoot(request, "sh -c '"+nameScriptFor(n)+"'"), 64<<10)
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return "its own name cannot be written into /etc/hosts: " + session.LastLines(session.Redacted(exit.Stderr)), nil
	}
	return "", err
}

// nameScriptFor returns nameScript for a node.
func nameScriptFor(n contract.Node) string {
	return strings.NewReplacer("$NAME", n.Name, "$ADDRESS", n.Address).Replace(nameScript)
}
