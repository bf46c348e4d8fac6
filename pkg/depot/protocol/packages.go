package protocol

import "regexp"

// AptFolder is the folder below /files that holds the apt sources, one folder per operating system.
const AptFolder = "apt"

// systemName is ID-VERSION_ID of an os-release(5) in lower case, or the ID alone.
var systemName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// PackageFolder is the folder below /files that holds an operating system's packages: apt/debian-12.
func PackageFolder(system string) string { return AptFolder + "/" + system }

// IsSystem reports whether an operating system's name, such as debian-12, can name a folder of packages.
func IsSystem(name string) bool { return systemName.MatchString(name) }
