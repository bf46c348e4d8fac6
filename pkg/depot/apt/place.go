package apt

import (
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// mirrorName is the folder that has the indexes of a mirror.
const mirrorName = "dists"

// These are the names of the files that the depot generates in a system's folder.
const (
	indexName   = "Packages"
	packedName  = "Packages.gz"
	releaseName = "Release"
	// inReleaseName is the Release with its signature inside, and signatureName the signature alone.
	inReleaseName = "InRelease"
	signatureName = "Release.gpg"
	// damagedName lists the packages that are in no index, one per line: path, colon, reason.
	damagedName = "damaged.txt"
	byHash      = "by-hash/SHA256/"
)

// ownIndex lists the names that show that a folder has its own index. Such a folder is a mirror
// with upstream's signature, or a repository that another tool maintains. The depot serves it
// unchanged.
var ownIndex = []string{mirrorName, inReleaseName, releaseName, indexName}

var (
	// fetchable matches the names that apt does not change when it requests them from a server. It
	// matches no name with "#" or "?", because apt changes such a name.
	fetchable = regexp.MustCompile(`^[A-Za-z0-9._+~:%@=,/-]+$`)
)

// split splits a path of the form apt/SYSTEM/REST, relative to the folder of plain files.
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
	case indexName, packedName, releaseName, inReleaseName, signatureName, damagedName:
		return true
	}
	return strings.HasPrefix(rest, byHash)
}

// isReserved reports whether rest is a generated name, or a name at which apt may look for another
// index of the same folder, such as Packages.xz.
func isReserved(rest string) bool {
	first, _, _ := strings.Cut(rest, "/")
	return isGenerated(rest) || first == "by-hash" || strings.HasPrefix(first, releaseName) || strings.HasPrefix(first, indexName)
}

// isHidden reports whether rest has a name that begins with a dot, as the unfinished files of rsync
// do.
func isHidden(rest string) bool { return strings.HasPrefix(rest, ".") || strings.Contains(rest, "/.") }

func isPackage(rest string) bool { return path.Ext(rest) == ".deb" && !isHidden(rest) }

// Refusal is the error for an upload that is refused. Status is an HTTP status, Text the reason and
// the next step.
type Refusal struct {
	Status int
	Text   string
}

func (r *Refusal) Error() string { return r.Text }

func refuse(status int, format string, args ...any) error {
	return &Refusal{status, fmt.Sprintf(format, args...)}
}

// checkPlace refuses a package whose path is in no repository.
func checkPlace(name string) error {
	system, rest, ok := split(name)
	switch {
	case path.Ext(name) != ".deb" || !strings.HasPrefix(name, protocol.AptFolder+"/"):
		return nil
	case !ok || !protocol.IsSystem(system):
		return refuse(http.StatusBadRequest, "%q: packages are kept by system: upload it to %s/SYSTEM/, where SYSTEM is ID-VERSION_ID of the nodes' /etc/os-release, such as debian-12", name, protocol.AptFolder)
	case isHidden(rest) || !fetchable.MatchString(rest):
		return refuse(http.StatusBadRequest, "%q: apt cannot fetch a file of that name: use letters, digits and ._+~:%%@=,- only, and no dot at the beginning", name)
	}
	return nil
}
