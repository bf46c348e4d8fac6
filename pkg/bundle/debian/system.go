package debian

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// systemPattern is the pattern of a Provisioning's spec.operatingSystem.
var systemPattern = regexp.MustCompile(`^[a-z][a-z0-9._]*(-[a-z0-9._]+)*-[0-9][a-z0-9.]*$`)

// CheckSystem returns an error if system does not consist of ID and VERSION_ID of an os-release(5).
func CheckSystem(system string) error {
	if !systemPattern.MatchString(system) {
		return fmt.Errorf("system %q: write ID and VERSION_ID of the nodes' /etc/os-release with a dash between, such as ubuntu-24.04", system)
	}
	return nil
}

// ThisSystem returns the operating system of this machine, such as debian-12; empty: unknown.
func ThisSystem() string {
	file, err := os.Open("/etc/os-release")
	if err != nil {
		return ""
	}
	defer file.Close()
	return readSystem(file)
}

func readSystem(osRelease io.Reader) string {
	values := map[string]string{}
	for lines := bufio.NewScanner(osRelease); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), "=")
		values[key] = strings.Trim(value, `"'`)
	}
	system := values["ID"] + "-" + values["VERSION_ID"]
	if CheckSystem(system) != nil {
		return ""
	}
	return system
}

// architectures maps the architectures of image platforms to Debian's names.
var architectures = map[string]string{
	"amd64": "amd64", "386": "i386", "arm64": "arm64", "arm": "armhf", "ppc64le": "ppc64el", "s390x": "s390x", "riscv64": "riscv64", "loong64": "loong64",
}

// Architecture returns Debian's name of the architecture of a platform such as linux/arm64. It
// returns an error if Debian has no packages for the platform.
func Architecture(p v1.Platform) (string, error) {
	name, known := architectures[p.Architecture]
	if p.OS != "linux" || !known || p.Architecture == "arm" && p.Variant == "v6" {
		return "", fmt.Errorf("platform %s: there are no Debian packages for it", p.String())
	}
	return name, nil
}

// PathOf returns the path of a Debian package below /files in a depot. file is the name under which
// apt-get stores the package. An epoch in this name, such as 5%3a, is omitted, because clients
// differ in how they encode a percent sign in a URL. The archives of the distributions omit it too.
func PathOf(system, file string) (string, error) {
	parts := strings.Split(file, "_")
	if len(parts) == 3 {
		_, version, epoch := strings.Cut(parts[1], "%3a")
		if epoch {
			parts[1] = version
		}
	}
	at := path.Join(protocol.PackageFolder(system), strings.Join(parts, "_"))
	return at, artifacts.CheckPath(at)
}
