package apt

import (
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// mirrorName is the folder in which a mirror has its indexes.
const mirrorName = "dists"

// Names that are generated in a system's folder.
const (
	indexName   = "Packages"
	packedName  = "Packages.gz"
	releaseName = "Release"
	// damagedName lists what is in no index, a line for each: path, colon, reason.
	damagedName = "damaged.txt"
	byHash      = "by-hash/SHA256/"
)

// ownIndex are the names by which a folder shows that somebody brought an index along: a mirror with upstream's signature, or a repository
// that another tool keeps. Such a folder is left as it is.
var ownIndex = []string{mirrorName, "InRelease", releaseName, indexName}

var (
	// askable are the names that apt asks a server for unchanged. It has trouble with "#" and "?".
	askable = regexp.MustCompile(`^[A-Za-z0-9._+~:%@=,/-]+$`)
)

// split divides a path below the plain files, apt/SYSTEM/REST.
func split(name string) (system, rest string, ok bool) {
	inside, ok := strings.CutPrefix(name, protocol.AptFolder+"/")
	if !ok {
		return "", "", false
	}
	system, rest, ok = strings.Cut(inside, "/")
	return system, rest, ok && system != "" && rest != ""
}

func isGenerated(rest string) bool {
	switch rest {
	case indexName, packedName, releaseName, damagedName:
		return true
	}
	return strings.HasPrefix(rest, byHash)
}

// isReserved covers, besides what is generated, the names that apt would take for another index of the same folder.
func isReserved(rest string) bool {
	first, _, _ := strings.Cut(rest, "/")
	return isGenerated(rest) || first == "by-hash" || first == "InRelease" || strings.HasPrefix(first, releaseName) || strings.HasPrefix(first, indexName)
}

// isHidden is what rsync and the like have not finished.
func isHidden(rest string) bool { return strings.HasPrefix(rest, ".") || strings.Contains(rest, "/.") }

func isPackage(rest string) bool { return path.Ext(rest) == ".deb" && !isHidden(rest) }

// Refusal says why an upload is not taken. Its status is an HTTP one.
type Refusal struct {
	Status int
	Text   string
}

func (r *Refusal) Error() string { return r.Text }

func refuse(status int, format string, args ...any) error {
	return &Refusal{status, fmt.Sprintf(format, args...)}
}

// checkPlace refuses a package where no index would have it.
func checkPlace(name string) error {
	system, rest, ok := split(name)
	switch {
	case path.Ext(name) != ".deb" || !strings.HasPrefix(name, protocol.AptFolder+"/"):
		return nil
	case !ok || !protocol.IsSystem(system):
		return refuse(http.StatusBadRequest, "%q: packages are kept by system: upload it to %s/SYSTEM/, where SYSTEM is ID-VERSION_ID of the nodes' /etc/os-release, such as debian-12", name, protocol.AptFolder)
	case isHidden(rest) || !askable.MatchString(rest):
		return refuse(http.StatusBadRequest, "%q: apt cannot fetch a file of that name: take letters, digits and any of ._+~:%%@=,- and no dot at the beginning", name)
	}
	return nil
}
