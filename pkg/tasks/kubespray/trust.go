package kubespray

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// errNoTrust: a node does not take the depot's certificate.
var errNoTrust = errors.New("the depot's certificate cannot be installed")

// trustScript puts the certificate into the system's store, for everything that downloads, and into a file of its own, for containerd. That file
// is written last: when it is there and the same, all was done. A file of the system's store must hold one certificate, or OpenSSL's index passes it
// over, and have a new name each time, or Debian does not make the index anew. Whatever was ours is replaced. $PEM is base64; there is no single
// quote in it.
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

// trustLimit bounds that on one node: making the system's store anew takes seconds, on a busy node many.
const trustLimit = 2 * time.Minute

// trust makes a node know the depot's certificate. Done twice it is done once.
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
		return fmt.Errorf("%w: %w", errNoTrust, exit)
	}
	return err
}
