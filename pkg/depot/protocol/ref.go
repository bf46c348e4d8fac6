package protocol

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Kind is the kind of an artifact, and a segment of its path.
type Kind string

// The kinds of ICN's REST agent.
const (
	BinaryImages    Kind = "binary_images"
	ContainerImages Kind = "container_images"
	OSImages        Kind = "os_images"
)

// Kinds are all kinds.
var Kinds = []Kind{BinaryImages, ContainerImages, OSImages}

// Ref is the name of an artifact.
type Ref struct {
	Owner, Cluster string
	Kind           Kind
	Name           string
}

// Base is the path of all artifacts and of the installation status of clusters.
const Base = "/v1/baremetalcluster"

// names allows only characters that need no quoting in a shell or a URL.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~@:=,-]*$`)

const (
	maxScope = 63
	maxName  = 128
	// maxRepository is the longest repository name that registry clients accept.
	maxRepository = 255
)

// Validate returns an error if a part of the name is not valid. The error says what is allowed.
func (r Ref) Validate() error {
	if err := CheckScope(r.Owner, r.Cluster); err != nil {
		return err
	}
	if !slices.Contains(Kinds, r.Kind) {
		return fmt.Errorf("kind %q: want one of %v", r.Kind, Kinds)
	}
	if err := checkName("image_name", r.Name, maxName); err != nil {
		return err
	}
	if n := len(r.Repository()); n > maxRepository {
		return fmt.Errorf("owner, cluster and image_name make a repository name of %d characters, and clients accept %d: shorten them or use fewer capitals", n, maxRepository)
	}
	return nil
}

// CheckScope returns an error if the name of an owner or a cluster is not valid.
func CheckScope(owner, cluster string) error {
	if err := checkName("owner", owner, maxScope); err != nil {
		return err
	}
	return checkName("cluster_name", cluster, maxScope)
}

func checkName(field, value string, longest int) error {
	switch {
	case value == "":
		return fmt.Errorf("%s is missing", field)
	case len(value) > longest:
		return fmt.Errorf("%s has %d characters: at most %d are allowed", field, len(value), longest)
	case !names.MatchString(value):
		return fmt.Errorf("%s %q: begin with a letter or digit, and use letters, digits and . _ + ~ @ : = , - only", field, value)
	}
	return nil
}

// String returns owner/cluster/kind/name.
func (r Ref) String() string {
	return strings.Join([]string{r.Owner, r.Cluster, string(r.Kind), r.Name}, "/")
}

// Path returns the artifact's URL path at /v1.
func (r Ref) Path() string {
	return strings.Join([]string{Base, url.PathEscape(r.Owner), url.PathEscape(r.Cluster), string(r.Kind), url.PathEscape(r.Name)}, "/")
}

// FilePath returns the artifact's path below /files, kind/owner/cluster/name, from which Ironic and
// package installers download it.
func (r Ref) FilePath() string {
	return strings.Join([]string{string(r.Kind), r.Owner, r.Cluster, r.Name}, "/")
}

// ParseFilePath parses a path that FilePath returns. For a path of that form whose parts are not
// valid, it returns the parts and false.
func ParseFilePath(path string) (Ref, bool) {
	parts := strings.Split(path, "/")
	if len(parts) != 4 {
		return Ref{}, false
	}
	r := Ref{Owner: parts[1], Cluster: parts[2], Kind: Kind(parts[0]), Name: parts[3]}
	return r, r.Validate() == nil
}

// The names of Backups in the depot: backup-NAME-UID.tar.age.
const (
	backupPrefix = "backup-"
	backupSuffix = ".tar.age"
)

// BackupName returns the name of a Backup's artifact. The depot never replaces an artifact, so the
// name has a part of the Backup's UID: a Backup of the same name that is created later gets another
// one.
func BackupName(name, uid string) string {
	return fmt.Sprintf("%s%s-%.8s%s", backupPrefix, name, uid, backupSuffix)
}

// IsBackup reports whether an artifact has the name of a Backup. Every account that may upload for
// the owner can choose such a name.
func (r Ref) IsBackup() bool {
	return r.Kind == BinaryImages && strings.HasPrefix(r.Name, backupPrefix) && strings.HasSuffix(r.Name, backupSuffix)
}
