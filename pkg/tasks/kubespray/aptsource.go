package kubespray

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
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// What nodes are given: files of their own, so that nothing which a person wrote is edited.
const (
	aptSource = "/etc/apt/sources.list.d/bpa-depot.sources"
	aptConfig = "/etc/apt/apt.conf.d/90bpa-depot"
)

var (
	// errNoDepot: a node does not get to the depot.
	errNoDepot = errors.New("it cannot ask the depot for OS packages")
	// errNoSource: a node does not take the depot as a source.
	errNoSource = errors.New("the depot cannot be made its source of OS packages")
)

// notReached is how the script ends if the depot does not answer.
const notReached = 66

// forgetSource undoes what sourceScript did.
const forgetSource = `rm -f ` + aptConfig + ` ` + aptSource

// sourceScript makes the depot a source of apt on a node, if the depot has packages for its system: apt itself asks for them, the way it will
// later. Lists that apt has fetched before are made to look old, or kubespray would take them for good for a day and not ask the depot.
// $URL, $SOURCE and $CONFIG are base64; there is no single quote in it.
const sourceScript = `set -eu; umask 022; export LC_ALL=C
source=` + aptSource + ` config=` + aptConfig + ` helper=/usr/lib/apt/apt-helper
[ -x $helper ] || { echo other; exit 0; }
new=$(mktemp -d); trap "rm -rf $new" EXIT
printf %s $SOURCE | base64 -d >$new/source; printf %s $CONFIG | base64 -d >$new/config
if ! $helper -c=$new/config -o APT::Sandbox::User=root -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
  download-file "$(printf %s $URL | base64 -d)" $new/Release >$new/said 2>&1; then
  if grep -q " 404 " $new/said; then ` + forgetSource + `; echo none; exit 0; fi
  grep ^E: $new/said >&2 || cat $new/said >&2; exit 66
fi
put() { cmp -s $1 $2 || { mkdir -p ${2%/*}; cp $1 $2.new; mv -f $2.new $2; }; }
put $new/source $source; put $new/config $config
for old in /var/lib/apt/lists /var/lib/apt/periodic/update-success-stamp; do [ ! -e $old ] || touch -d @0 $old; done
echo held`

// sourceLimit bounds that on one node.
const sourceLimit = 3 * time.Minute

// packageSource makes the depot the source of a node's OS packages, the only one on a closed site, and says so. Where the depot has none for the
// system, or the node has no apt, nothing of ours stays. Done twice it is done once.
func packageSource(ctx context.Context, request contract.Request, conn node.Connection, system string) (note string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sourceLimit)
	defer cancel()
	script := forgetSource
	if request.DepotURL != "" && system != "" {
		if script, err = sourceFor(request, system); err != nil {
			return "", err
		}
	}
	said, err := conn.Output(ctx, node.AsRoot(request, "sh -c '"+script+"'"), 64<<10)
	var exit *ssh.ExitError
	switch {
	case errors.As(err, &exit) && exit.Status == notReached:
		return "", fmt.Errorf("%w at %s: %w", errNoDepot, request.DepotURL, exit)
	case errors.As(err, &exit):
		return "", fmt.Errorf("%w: %w", errNoSource, exit)
	case err != nil || strings.TrimSpace(string(said)) != "held":
		return "", err
	case request.Connected:
		return fmt.Sprintf("OS packages of %s come from the depot and its own sources", system), nil
	}
	return fmt.Sprintf("OS packages of %s come from the depot alone", system), nil
}

// sourceFor is the script for a system.
func sourceFor(request contract.Request, system string) (string, error) {
	depot, err := url.Parse(request.DepotURL)
	if err != nil || depot.Host == "" {
		return "", fmt.Errorf("%w: %q is no URL", errNoSource, request.DepotURL)
	}
	folder := request.DepotURL + "/files/" + protocol.PackageFolder(system) + "/"
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	return strings.NewReplacer("$URL", encode(folder+"Release"), "$SOURCE", encode(sourceOf(folder)), "$CONFIG", encode(configOf(request, depot))).Replace(sourceScript), nil
}

// sourceOf is a flat repository. Nobody signs what the depot makes: its certificate says who it is. A new machine may not have the time yet.
func sourceOf(folder string) string {
	return "# Written by BPA.\nTypes: deb\nURIs: " + folder + "\nSuites: /\nTrusted: yes\nCheck-Date: no\n"
}

// configOf goes past any proxy, and on a closed site past all other sources: each would cost minutes until apt gives it up. An IPv6 address cannot
// stand in the name of an option: there the system's store vouches for the depot, and a proxy that is set is used.
func configOf(request contract.Request, depot *url.URL) string {
	var lines []string
	if host := depot.Hostname(); !strings.Contains(host, ":") {
		lines = append(lines, fmt.Sprintf(`Acquire::%s::Proxy::%s "DIRECT";`, depot.Scheme, host))
		if depot.Scheme == "https" && request.DepotCA != "" {
			lines = append(lines, fmt.Sprintf(`Acquire::https::%s::CAInfo "%s";`, host, contract.DepotCAPath))
		}
	}
	if !request.Connected {
		lines = append(lines, `Dir::Etc::SourceList "`+aptSource+`";`, `Dir::Etc::SourceParts "/dev/null";`)
	}
	return "// Written by BPA.\n" + strings.Join(lines, "\n") + "\n"
}
