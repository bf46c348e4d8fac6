package protocol

import "regexp"

// AptFolder is the folder below /files that holds the apt sources, one folder per operating system.
const AptFolder = "apt"

// PackageKeyPath is the URL path of the public key that signs the indexes of the apt sources, in
// OpenPGP's armor.
const PackageKeyPath = "/apt-key.asc"

// MaxPackageKey is the maximum size of that key in bytes.
const MaxPackageKey = 64 << 10

// systemName matches the name of an operating system: ID-VERSION_ID of its os-release(5) in lower
// case, or the ID alone.
var systemName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// PackageFolder returns the folder below /files that holds an operating system's packages, such as
// apt/debian-12.
func PackageFolder(system string) string { return AptFolder + "/" + system }

// IsSystem reports whether a string is a valid name of an operating system, such as debian-12.
func IsSystem(name string) bool { return systemName.MatchString(name) }
