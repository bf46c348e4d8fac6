package artifacts

import (
	"fmt"
	"slices"
)

// Have describes the content of a depot as far as a client asked for it.
type Have struct {
	// Images holds the digest of the manifest of each image that the depot has.
	Images map[Place]string
	// Files holds the files that the depot has, by path.
	Files map[string]FileState
	// Packages holds the indexes of the depot's package sources, by operating system. If a system
	// has no entry, the depot has no packages for it. Its nodes then use their own sources, whose
	// packages are not known here.
	Packages map[string]*PackageIndex
}

// FileState is a file in the depot.
type FileState struct {
	SHA256 string // empty if the client did not ask for it
	Size   int64
}

// Missing is the difference between a list and a depot: the artifacts on the list that the depot
// lacks.
type Missing struct {
	// List holds exactly the missing artifacts, so a bundle can be made from it.
	List
	// Why describes the difference for each artifact that the depot has with other content. The key
	// is Ref or Path.
	Why map[string]string
	// Of is the number of artifacts on the list that were compared.
	Of int
	// Own holds the packages that the depot lacks and that nodes fetch from their own sources
	// instead. Compare does not set it.
	Own []Package
	// Elsewhere holds the operating systems for which the depot has no packages. Their nodes use
	// their own sources.
	Elsewhere []string
	// Unresolved describes missing dependencies: the depot has a package, but lacks another package
	// on which that package depends. These dependencies must be on the nodes already.
	Unresolved []string
}

// Nothing reports whether the depot has everything.
func (m Missing) Nothing() bool { return m.Size() == 0 }

// Compare returns the artifacts on the list that the depot lacks. It compares the digest of an
// image only if the list has one. Without a digest on the list, the image that the site stored
// under the tag is accepted.
func Compare(l List, have Have) Missing {
	m := Missing{Of: len(l.Images) + len(l.Files), Why: map[string]string{}}
	for _, i := range l.Images {
		place, err := i.Place()
		got, there := have.Images[place]
		if err == nil && there && (i.Wanted() == "" || i.Wanted() == got) {
			continue
		}
		m.Images = append(m.Images, i)
		if there {
			m.Why[i.Ref] = fmt.Sprintf("the depot has %s, expected %s", got, i.Wanted())
		}
	}
	for _, f := range l.Files {
		got, there := have.Files[f.Path]
		why := f.differsFrom(got)
		if there && why == "" {
			continue
		}
		m.Files = append(m.Files, f)
		if there {
			m.Why[f.Path] = why
		}
	}
	m.comparePackages(l, have)
	return m
}

func (m *Missing) comparePackages(l List, have Have) {
	for _, system := range l.Systems() {
		index := have.Packages[system]
		if index == nil {
			m.Elsewhere = append(m.Elsewhere, system)
			continue
		}
		wanted := slices.DeleteFunc(slices.Clone(l.Packages), func(p Package) bool { return p.System != system })
		_, missing, unresolved := index.Resolve(wanted)
		m.Of += len(wanted)
		m.Packages, m.Unresolved = append(m.Packages, missing...), append(m.Unresolved, unresolved...)
	}
}

// differsFrom describes how the depot's file differs from f. It returns an empty string if it sees
// no difference. It does not compare SHA512, because a depot returns only SHA-256. The client that
// fetches the file compares SHA512.
func (f File) differsFrom(got FileState) string {
	switch {
	case f.SHA256 != "" && f.SHA256 != got.SHA256:
		return fmt.Sprintf("the depot has sha256 %s, expected %s", got.SHA256, f.SHA256)
	case f.Size > 0 && f.Size != got.Size:
		return fmt.Sprintf("the depot has %d bytes, expected %d", got.Size, f.Size)
	}
	return ""
}
