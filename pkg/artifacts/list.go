package artifacts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// List holds the artifacts that an installation needs. The playbooks of "seed-registry list" write
// it as JSON, and "kubectl bpa bundle create" reads it.
type List struct {
	Images   []Image   `json:"images,omitempty"`
	Files    []File    `json:"files,omitempty"`
	Packages []Package `json:"packages,omitempty"`
}

// Package is a package of the nodes' operating system. Without a version, any version is accepted.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// System is the operating system as ID-VERSION_ID of its os-release, such as debian-12. If it
	// is empty, the system is unknown, and it is not checked whether the depot has the package.
	System string `json:"system,omitempty"`
	// Architecture is the architecture in the notation of the operating system, such as amd64 in
	// Debian and x86_64 in Fedora; empty: any.
	Architecture string `json:"architecture,omitempty"`
}

// String returns the package in apt's notation, NAME:ARCHITECTURE=VERSION.
func (p Package) String() string {
	text := p.Name
	if p.Architecture != "" {
		text += ":" + p.Architecture
	}
	if p.Version != "" {
		text += "=" + p.Version
	}
	return text
}

// MaxList is the maximum size of the JSON form in bytes. It is far above the size of the list of an
// installation.
const MaxList = 8 << 20

// Parse reads a list and checks it. Unknown fields are errors: a misspelt checksum field would
// leave a file without a checksum.
func Parse(text []byte) (List, error) {
	var l List
	if len(text) > MaxList {
		return l, fmt.Errorf("list of artifacts: it has %d bytes, more than %d", len(text), MaxList)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return List{}, fmt.Errorf("list of artifacts: %w", err)
	}
	if decoder.More() {
		return List{}, fmt.Errorf("list of artifacts: there is more text after its end")
	}
	return Merge(l)
}

// Merge makes one list of several. The result is sorted and has each artifact once. If two entries
// of an artifact differ because one of them lacks a digest, a checksum, a size or a URL, the result
// has the value of the other. Merge returns an error if two entries contradict each other, or if
// two images would have the same name in the depot.
func Merge(lists ...List) (List, error) {
	images, files, packages := map[Place]Image{}, map[string]File{}, map[Package]bool{}
	for _, l := range lists {
		for _, i := range l.Images {
			if err := addImage(images, i); err != nil {
				return List{}, err
			}
		}
		for _, f := range l.Files {
			if err := addFile(files, f); err != nil {
				return List{}, err
			}
		}
		for _, p := range l.Packages {
			if err := p.check(); err != nil {
				return List{}, err
			}
			packages[p] = true
		}
	}
	return List{
		Images: sorted(images, func(_ Place, i Image) Image { return i }, func(a, b Image) int { return cmp.Compare(a.Ref, b.Ref) }),
		Files:  sorted(files, func(_ string, f File) File { return f }, func(a, b File) int { return cmp.Compare(a.Path, b.Path) }),
		Packages: sorted(packages, func(p Package, _ bool) Package { return p }, func(a, b Package) int {
			return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Architecture, b.Architecture), cmp.Compare(a.Version, b.Version))
		}),
	}, nil
}

func sorted[K comparable, V, T any](from map[K]V, pick func(K, V) T, order func(T, T) int) []T {
	var all []T
	for k, v := range from {
		all = append(all, pick(k, v))
	}
	slices.SortFunc(all, order)
	return all
}

func addImage(images map[Place]Image, i Image) error {
	place, err := i.Place()
	if err != nil {
		return err
	}
	other, twice := images[place]
	switch {
	case !twice, other.Digest == "":
	case i.Digest == "":
		i.Digest = other.Digest
	case i.Digest != other.Digest:
		return fmt.Errorf("image %s is listed with two digests, %s and %s: keep one of them", i.Ref, other.Digest, i.Digest)
	}
	if twice && i.canonical() != other.canonical() {
		return fmt.Errorf("images %s and %s both have the name %s in the depot, which does not store the registry's name: use another repository for one of them",
			other.Ref, i.Ref, place)
	}
	images[place] = i
	return nil
}

func addFile(files map[string]File, f File) error {
	if err := f.check(); err != nil {
		return err
	}
	if other, twice := files[f.Path]; twice {
		if differ(f.SHA256, other.SHA256) || differ(f.SHA512, other.SHA512) || f.Size > 0 && other.Size > 0 && f.Size != other.Size {
			return fmt.Errorf("file %s is listed with two contents, %s and %s: keep one of them", f.Path, other.identity(), f.identity())
		}
		f.SHA256, f.SHA512 = cmp.Or(f.SHA256, other.SHA256), cmp.Or(f.SHA512, other.SHA512)
		f.Size, f.URL = max(f.Size, other.Size), cmp.Or(f.URL, other.URL)
	}
	files[f.Path] = f
	return nil
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// Systems returns the operating systems of the packages on the list, sorted.
func (l List) Systems() []string {
	systems := map[string]bool{}
	for _, p := range l.Packages {
		if p.System != "" {
			systems[p.System] = true
		}
	}
	return slices.Sorted(maps.Keys(systems))
}

// Size returns the number of artifacts on the list.
func (l List) Size() int { return len(l.Images) + len(l.Files) + len(l.Packages) }
