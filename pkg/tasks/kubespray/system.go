package kubespray

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

// errOtherSystem: a node does not run what the request says.
var errOtherSystem = errors.New("it has another operating system")

// checkSystem tells what a node runs, ID-VERSION_ID of its os-release in lower case such as debian-12, and fails if the request says
// otherwise. It is empty if the node does not say, or says what is no such name.
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
		return "", fmt.Errorf("%w: it runs %s, while spec.operatingSystem says %s", errOtherSystem, system, wanted)
	}
	return system, nil
}

// systemOf reads an os-release(5).
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
