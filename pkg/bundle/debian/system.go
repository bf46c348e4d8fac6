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

// systemPattern is that of a Provisioning's spec.operatingSystem.
var systemPattern = regexp.MustCompile(`^[a-z][a-z0-9._]*(-[a-z0-9._]+)*-[0-9][a-z0-9.]*$`)

// CheckSystem refuses what is no ID and VERSION_ID of an os-release(5).
func CheckSystem(system string) error {
	if !systemPattern.MatchString(system) {
		return fmt.Errorf("system %q: write ID and VERSION_ID of the nodes' /etc/os-release with a dash between, such as ubuntu-24.04", system)
	}
	return nil
}

// ThisSystem is what this machine runs, such as debian-12; empty if it does not say.
func ThisSystem() string {
	file, err := os.Open("/etc/os-release")
	if err != nil {
		return ""
	}
	defer file.Close()
	return readSystem(file)
}

func readSystem(osRelease io.Reader) string {
	said := map[string]string{}
	for lines := bufio.NewScanner(osRelease); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), "=")
		said[key] = strings.Trim(value, `"'`)
	}
	system := said["ID"] + "-" + said["VERSION_ID"]
	if CheckSystem(system) != nil {
		return ""
	}
	return system
}

// architectures are Debian's names of what images call their platform.
var architectures = map[string]string{
	"amd64": "amd64", "386": "i386", "arm64": "arm64", "arm": "armhf", "ppc64le": "ppc64el", "s390x": "s390x", "riscv64": "riscv64", "loong64": "loong64",
}

// Architecture is Debian's name of a platform such as linux/arm64.
func Architecture(p v1.Platform) (string, error) {
	name, known := architectures[p.Architecture]
	if p.OS != "linux" || !known || p.Architecture == "arm" && p.Variant == "v6" {
		return "", fmt.Errorf("platform %s: there are no Debian packages for it", p.String())
	}
	return name, nil
}

// PathOf is where a depot keeps a package, by the name of its file. An epoch, which apt writes as 5%3a, is left out of it, as in the archives
// of the distributions: not every client asks for a percent sign in the same way.
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
