package protocol

// ClusterAll is the name of the cluster in the path of an upload that is for all clusters of its owner.
const ClusterAll = "all"

// PackageFormat is the format of a binary package.
type PackageFormat string

// FormatTar is a tar archive, also a compressed one, with a program install.sh.
const (
	FormatDeb PackageFormat = "deb"
	FormatRPM PackageFormat = "rpm"
	FormatTar PackageFormat = "tar"
)

// Package is one binary package of the depot that nodes can install.
type Package struct {
	// Name and Version are those in the package itself. A tar archive has its version in its file version,
	// and its name is the name of its upload without the version and the endings.
	Name    string        `json:"name"`
	Version string        `json:"version"`
	Format  PackageFormat `json:"format"`
	// Architecture is that of the package, such as amd64 or x86_64; empty, all or noarch: any.
	Architecture string `json:"architecture,omitempty"`
	// Owner and Cluster are those of the path of an upload. Cluster is ClusterAll if it is for all clusters
	// of the owner. Empty: the package is in an apt source.
	Owner   string `json:"owner,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	// System is the operating system of the apt source; empty: the package was uploaded below /v1.
	System string `json:"system,omitempty"`
	// Path is the path below the depot's URL from which nodes read the package, with a leading slash.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // in hexadecimal
	Size   int64  `json:"size"`   // in bytes
}

// PackageList is the answer to GET PackagesPath, sorted by name, version, architecture and path. Its ETag
// changes when the list does. A request with If-None-Match and "Prefer: wait=SECONDS" (RFC 7240) is
// answered when the list has changed, or with 304 after that time.
type PackageList struct {
	Packages []Package `json:"packages"`
	// Damaged are uploads and apt sources that cannot be read, with the reason.
	Damaged []DamagedPackage `json:"damaged,omitempty"`
}

// DamagedPackage is an upload below binary_images that is no usable package, or an apt source that cannot be read:
// then Owner and Cluster are empty, and Name is apt/SYSTEM.
type DamagedPackage struct {
	Owner   string `json:"owner"`
	Cluster string `json:"cluster"`
	Name    string `json:"name"` // of the upload
	Reason  string `json:"reason"`
}

// PackagesPath is the path of the list of all packages.
const PackagesPath = "/v1/packages"
