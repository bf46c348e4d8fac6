package artifacts

import (
	"fmt"
	"slices"
)

// Have is what a depot has, as far as somebody asked it.
type Have struct {
	// Images are the digests of the manifests, by place.
	Images map[Place]string
	// Files are by path.
	Files map[string]FileState
	// Packages are what the depot's package sources list, by system. Of a system that is not in it the depot has none: then the nodes have
	// sources of their own, and what is in those is not for the depot to say.
	Packages map[string]*PackageIndex
}

// FileState is a file in the depot.
type FileState struct {
	SHA256 string // empty if it was not asked for
	Size   int64
}

// Missing is what a list wants and a depot has not.
type Missing struct {
	// List names exactly what is missing, so that it can be brought.
	List
	// Why says of each that is there with another content what differs, by Ref or Path.
	Why map[string]string
	// Of is how many artifacts were wanted and looked for.
	Of int
	// Own are packages that are missing too, but that nodes get from sources of their own. Compare leaves it empty.
	Own []Package
	// Elsewhere are the systems whose packages the depot does not keep.
	Elsewhere []string
	// Unresolved is what packages in the depot depend on and the depot lacks, in words: nodes must have it already.
	Unresolved []string
}

// Nothing reports whether the depot has everything.
func (m Missing) Nothing() bool { return m.Size() == 0 }

// Compare says what is missing. A tag's digest counts only if the list names one: what a site has put under a name is what it wants there.
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
			m.Why[i.Ref] = fmt.Sprintf("the depot has %s, wanted is %s", got, i.Wanted())
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

// differsFrom leaves SHA512 to whoever fetches the file: a depot tells SHA-256 only.
func (f File) differsFrom(got FileState) string {
	switch {
	case f.SHA256 != "" && f.SHA256 != got.SHA256:
		return fmt.Sprintf("the depot has sha256 %s, wanted is %s", got.SHA256, f.SHA256)
	case f.Size > 0 && f.Size != got.Size:
		return fmt.Sprintf("the depot has %d bytes, wanted are %d", got.Size, f.Size)
	}
	return ""
}
