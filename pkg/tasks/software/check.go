package software

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/digest"
)

// The module on the nodes checks the same patterns. All programs get names after "--", and a version only
// behind a name and "=".
var (
	packageName    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9+._-]{0,98}[A-Za-z0-9+._])?$`)
	packageVersion = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+~:_^-]{0,99}$`)
	nodeName       = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
)

// formats are the formats of files, the preferred ones first: a package manager knows what it has
// installed, and install.sh does not.
var formats = []string{"deb", "rpm", "tar"}

// check returns why a package cannot be installed on any node; empty: it can be.
func check(p contract.Software) string {
	if !packageName.MatchString(p.Name) {
		return fmt.Sprintf("%q is not the name of a package. Correct the Software", p.Name)
	}
	if p.Version != "" && !packageVersion.MatchString(p.Version) {
		return fmt.Sprintf("%q is not a version. Correct the Software", p.Version)
	}
	for _, f := range p.Files {
		u, err := url.Parse(f.Path)
		if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(f.Path, "/") || !slices.Contains(formats, f.Format) || !digest.IsSHA256(f.SHA256) {
			return fmt.Sprintf("the depot lists file %q with format %q and digest %q, which is none. Upload the package again", f.Path, f.Format, f.SHA256)
		}
	}
	return ""
}
