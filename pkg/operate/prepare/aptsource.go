package prepare

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// Exit statuses of sourceScript: the depot does not answer, and apt refuses its index.
const (
	notReached = 66
	refused    = 67
)

// forgetSource is a command that removes the files that sourceScript writes.
const forgetSource = `rm -f ` + session.AptConfig + ` ` + session.AptSource + ` ` + contract.AptKeyPath

// sourceScript configures the depot as a package source of apt on a node, if the depot has packages
// for the node's system. It checks this with apt's own download helper, because the helper uses the
// same configuration as apt. Then the node's apt fetches and verifies the index as it will do later, but
// into a folder of the script, without the hooks and the other sources of the node. The script sets the time of package lists that apt fetched earlier to 1970.
// Otherwise, kubespray would consider them fresh for a day, and would not fetch the depot's lists.
// $URL, $SOURCE, $CONFIG and $KEY are replaced by their values in base64. The script must not contain a
// single quote.
const sourceScript = `set -eu; umask 022; export LC_ALL=C
source=` + session.AptSource + ` config=` + session.AptConfig + ` key=` + contract.AptKeyPath + ` helper=/usr/lib/apt/apt-helper get=/usr/bin/apt-get
[ -x $helper ] || { echo other; exit 0; }
new=$(mktemp -d); trap "rm -rf $new" EXIT
printf %s $SOURCE | base64 -d >$new/source; printf %s $CONFIG | base64 -d >$new/config; printf %s $KEY | base64 -d >$new/key.asc
once="-o APT::Sandbox::User=root -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20"
if ! $helper -c=$new/config $once \
  download-file "$(printf %s $URL | base64 -d)" $new/Release >$new/said 2>&1; then
  if grep -q " 404 " $new/said; then ` + forgetSource + `; echo none; exit 0; fi
  grep ^E: $new/said >&2 || cat $new/said >&2; exit 66
fi
[ -s $new/key.asc ] || { echo "E: the depot has packages for this node, but no key for their index at ` + protocol.PackageKeyPath + `" >&2; exit 67; }
mkdir -p $new/lists/partial; sed "s|$key|$new/key.asc|" $new/source >$new/only.sources
{ cat $new/config; for hook in Pre-Invoke Post-Invoke Post-Invoke-Success; do echo "#clear APT::Update::$hook;"; done; } >$new/check
if ! $get -c=$new/check $once -o Dir::Etc::SourceList=$new/only.sources -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$new/lists \
  -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Update::Error-Mode=any -q update >$new/said 2>&1; then
  grep "^[EW]:" $new/said >&2 || cat $new/said >&2; exit 67
fi
put() { cmp -s $1 $2 || { mkdir -p ${2%/*}; cp $1 $2.new; mv -f $2.new $2; }; }
put $new/key.asc $key; put $new/source $source; put $new/config $config
for old in /var/lib/apt/lists /var/lib/apt/periodic/update-success-stamp; do [ ! -e $old ] || touch -d @0 $old; done
echo held`

// sourceLimit bounds the time of the script on one node.
const sourceLimit = 3 * time.Minute

// packageSource configures the depot as the source of a node's OS packages and returns a note for
// the log. The node accepts only an index that is signed with key. On a closed site the depot becomes the only source. If no depot is set, the system is
// not known, or the depot has no packages for it, packageSource removes the files of an earlier
// run. A second call with the same request changes nothing.
func packageSource(ctx context.Context, request contract.Request, key []byte, conn node.Connection, system string) (note string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sourceLimit)
	defer cancel()
	script := forgetSource
	if request.DepotURL != "" && system != "" {
		if script, err = sourceFor(request, key, system); err != nil {
			return "", err
		}
	}
	said, err := conn.Output(ctx, node.AsRoot(request, "sh -c '"+script+"'"), 64<<10)
	var exit *ssh.ExitError
	switch {
	case errors.As(err, &exit) && exit.Status == notReached:
		return "", fmt.Errorf("%w at %s: %w", session.ErrNoDepot, request.DepotURL, exit)
	case errors.As(err, &exit) && exit.Status == refused:
		return "", fmt.Errorf("%w at %s: %w", session.ErrRefused, request.DepotURL, exit)
	case errors.As(err, &exit):
		return "", fmt.Errorf("%w: %w", session.ErrNoSource, exit)
	case err != nil || strings.TrimSpace(string(said)) != "held":
		return "", err
	case request.Connected:
		return fmt.Sprintf("OS packages of %s come from the depot and the node's own sources", system), nil
	}
	return fmt.Sprintf("OS packages of %s come only from the depot", system), nil
}

// sourceFor returns sourceScript with the values for this request and operating system.
func sourceFor(request contract.Request, key []byte, system string) (string, error) {
	depot, err := url.Parse(request.DepotURL)
	if err != nil || depot.Host == "" {
		return "", fmt.Errorf("%w: %q is not a URL", session.ErrNoSource, request.DepotURL)
	}
	folder := request.DepotURL + "/files/" + protocol.PackageFolder(system) + "/"
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	return strings.NewReplacer("$URL", encode(folder+"Release"), "$SOURCE", encode(sourceOf(folder)), "$CONFIG", encode(configOf(request, depot)), "$KEY", encode(string(key))).Replace(sourceScript), nil
}

// sourceOf returns apt's source file for a folder of the depot, which is a flat repository. The clock of
// a new machine may be behind, as far as for the depot's certificate.
func sourceOf(folder string) string {
	return "# Written by BPA.\nTypes: deb\nURIs: " + folder + "\nSuites: /\nSigned-By: " + contract.AptKeyPath + "\nDate-Max-Future: 86400\n"
}

// configOf returns apt's configuration. One option makes apt connect to the depot without a proxy,
// and another makes it verify the depot's certificate with the file at contract.DepotCAPath. The
// names of both options contain the depot's host, and such a name cannot contain an IPv6 address.
// For a depot with an IPv6 address, apt therefore uses a configured proxy, and verifies the
// certificate with the system's trust store. On a closed site apt ignores all other sources,
// because it would try each of them for minutes.
func configOf(request contract.Request, depot *url.URL) string {
	var lines []string
	if host := depot.Hostname(); !strings.Contains(host, ":") {
		lines = append(lines, fmt.Sprintf(`Acquire::%s::Proxy::%s "DIRECT";`, depot.Scheme, host))
		if depot.Scheme == "https" && request.DepotCA != "" {
			lines = append(lines, fmt.Sprintf(`Acquire::https::%s::CAInfo "%s";`, host, contract.DepotCAPath))
		}
	}
	if !request.Connected {
		lines = append(lines, `Dir::Etc::SourceList "`+session.AptSource+`";`, `Dir::Etc::SourceParts "/dev/null";`)
	}
	return "// Written by BPA.\n" + strings.Join(lines, "\n") + "\n"
}
