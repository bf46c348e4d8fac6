package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// errOtherSystem reports that a node does not run the requested operating system.
var errOtherSystem = errors.New("it has another operating system")

// checkSystem reads the operating system of a node. The result is ID-VERSION_ID of the node's
// os-release in lower case, such as debian-12, or empty if os-release does not have both. It is an
// error if the request names another system.
func checkSystem(ctx context.Context, request contract.Request, conn node.Connection) (string, error) {
	text, err := conn.Output(ctx, "cat /etc/os-release", 64<<10)
	var exit *ssh.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}
	system := systemOf(text)
	if wanted := request.OperatingSystem; wanted != "" && !strings.EqualFold(system, wanted) {
		if system == "" {
			system = "a system without ID and VERSION_ID in /etc/os-release"
		}
		return "", fmt.Errorf("%w: it runs %s, but spec.operatingSystem is %s", errOtherSystem, system, wanted)
	}
	return system, nil
}

// systemOf returns the operating system from the content of an os-release(5) file; empty: not
// known.
func systemOf(text []byte) string {
	values := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		key, value, _ := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		values[key] = strings.Trim(value, `"'`)
	}
	system := strings.ToLower(values["ID"] + "-" + values["VERSION_ID"])
	if values["ID"] == "" || values["VERSION_ID"] == "" || !protocol.IsSystem(system) {
		return ""
	}
	return system
}
