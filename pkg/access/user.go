package access

import (
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
)

// Kind says what a user may do.
type Kind string

const (
	Admin  Kind = "admin"  // everything, as cluster-admin
	Health Kind = "health" // the reads of a health check: see HealthRoles
	// Plugins has the rights of Admin, for the time of one run of the task install-plugins.
	Plugins Kind = "plugins"
	// Software drains nodes, for the time of one run of the task install-software: see SoftwareRole.
	Software Kind = "software"
)

// OfTask reports whether users of this kind have their rights for the time of a task.
func (k Kind) OfTask() bool { return k == Plugins || k == Software }

// User is a user of an application cluster that only BPA creates. Its name has the form
// bpa:<cluster>:<kind>:<id>.
type User struct {
	Cluster string // name of the cluster, for readers; cut to mostCluster
	Kind    Kind
	ID      string // 8 random hexadecimal digits
}

// mostCluster keeps the whole name within 64 bytes, the limit of X.509 for a CommonName.
const mostCluster = 64 - len("bpa::software:12345678")

var userName = regexp.MustCompile(`^bpa:([A-Za-z0-9._-]+):(admin|health|plugins|software):([0-9a-f]{8})$`)

// NewUser returns a user with a new name.
func NewUser(cluster string, kind Kind, random io.Reader) (User, error) {
	id := make([]byte, 4)
	if _, err := io.ReadFull(random, id); err != nil {
		return User{}, fmt.Errorf("create the name of a user: %w", err)
	}
	return User{Cluster: cluster[:min(len(cluster), mostCluster)], Kind: kind, ID: hex.EncodeToString(id)}, nil
}

// ParseUser reads the CommonName of a certificate or of a request. It returns false if the user is not
// one of BPA's.
func ParseUser(commonName string) (User, bool) {
	m := userName.FindStringSubmatch(commonName)
	if m == nil {
		return User{}, false
	}
	return User{Cluster: m[1], Kind: Kind(m[2]), ID: m[3]}, true
}

// String returns the user's name in Kubernetes, which is the CommonName of its certificate.
func (u User) String() string { return fmt.Sprintf("bpa:%s:%s:%s", u.Cluster, u.Kind, u.ID) }

// Binding returns the name of the user's bindings.
func (u User) Binding() string { return fmt.Sprintf("bpa-%s-%s", u.Kind, u.ID) }
