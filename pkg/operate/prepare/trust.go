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

// trustScript adds the depot's CA certificates to the system's trust store, which download programs
// use. It also writes them to a separate file, which containerd uses. It writes that file last: if
// the file already has this content, nothing is left to do. Each file in the trust store must hold
// only one certificate, because OpenSSL's index ignores other files. Each file must have a new
// name, because otherwise Debian does not rebuild the index. The script removes the files of an
// earlier run. $PEM is replaced by the certificates in base64. The script must not contain a single
// quote.
const trustScript = `set -eu; umask 022
ca=` + contract.DepotCAPath + `
mkdir -p "${ca%/*}"; printf %s $PEM | base64 -d >"$ca.new"
if cmp -s "$ca.new" "$ca"; then rm "$ca.new"; exit 0; fi
if [ -d /etc/pki/ca-trust/source/anchors ]; then dir=/etc/pki/ca-trust/source/anchors; update="update-ca-trust extract"
elif [ -d /etc/pki/trust/anchors ]; then dir=/etc/pki/trust/anchors; update=update-ca-certificates
else dir=/usr/local/share/ca-certificates; update=update-ca-certificates; fi
mkdir -p "$dir"; rm -f "$dir"/bpa-depot*.crt
awk -v to="$dir/bpa-depot-$(date +%s)" "/-BEGIN CERTIFICATE-/ { n++ } n { print >(to \"-\" n \".crt\") }" "$ca.new"
$update >&2; mv -f "$ca.new" "$ca"`

// trustLimit bounds the time of the script on one node. To rebuild the trust store takes seconds,
// and more on a busy node.
const trustLimit = 2 * time.Minute

// trust installs the depot's CA certificates on a node. A second call with the same certificates
// changes nothing.
func trust(ctx context.Context, request contract.Request, conn node.Connection) error {
	if request.DepotCA == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, trustLimit)
	defer cancel()
	text := strings.Replace(trustScript, "$PEM", base64.StdEncoding.EncodeToString([]byte(request.DepotCA)), 1)
	_, err := conn.Output(ctx, node.AsRoot(request, "sh -c '"+text+"'"), 64<<10)
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%w: %w", session.ErrNoTrust, exit)
	}
	return err
}
