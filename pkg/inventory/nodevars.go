package inventory

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// hostVars are the variables that hostsINI writes for each host itself. No node has another value of them.
var hostVars = []string{"ip", "access_ip", "ip6", "access_ip6", "etcd_member_name", "kube_version", "node_taints"}

// ownValue matches the value of a node's own variable in hosts.ini. No other value is in single quotes.
var ownValue = regexp.MustCompile(`='[^']*'`)

// ownVars returns the node's own variables as they follow the name of the host in hosts.ini, sorted by name. They
// override those of the file group_vars/all.
func (c *checked) ownVars(node contract.Node) (texts []string, err error) {
	own := c.request.VarsOf(node)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		text, err := assignment(name, own[name])
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// checkOwnVars checks the names and the values of the node's own variables.
func (c *checked) checkOwnVars(node contract.Node) error {
	for name := range c.request.VarsOf(node) {
		switch err := checkVar(name); {
		case err != nil:
			return err
		case slices.Contains(hostVars, name) || name == mirrorsVar:
			return fmt.Errorf("kubespray variable %q is not allowed for one node", name)
		}
	}
	_, err := c.ownVars(node)
	return err
}

// Redacted returns hosts.ini without the values of the nodes' own variables, for a log.
func (i Inventory) Redacted() string {
	var lines []string
	for line := range strings.Lines(string(i.HostsINI)) {
		lines = append(lines, ownValue.ReplaceAllString(line, "=..."))
	}
	return strings.Join(lines, "")
}
