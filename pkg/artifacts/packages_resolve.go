package artifacts

import (
	"fmt"
	"slices"

	"pault.ag/go/debian/dependency"
	"pault.ag/go/debian/version"
)

// everywhere is the architecture of packages that run on every architecture.
const everywhere = "all"

// Resolve finds packages and all their dependencies in the index.
//
//   - held holds the packages that were found, sorted.
//   - missing holds the wanted packages that the index lacks.
//   - unresolved describes those dependencies of the packages in held that no package in the index
//     satisfies. Each name appears once, with the highest needed version, such as
//     "libc6 (>= 2.34), which jq and 2 more need".
//
// Unresolved dependencies are not errors. A bundle leaves out the packages that every installation
// has, so the index does not have them either.
func (x *PackageIndex) Resolve(wanted []Package) (held []DebianPackage, missing []Package, unresolved []string) {
	r := resolution{index: x, seen: map[visit]bool{}, held: map[*DebianPackage]bool{}, lacks: map[string]*lack{}}
	for _, p := range wanted {
		found := x.find(asked(p), p.Architecture)
		if found == nil {
			missing = append(missing, p)
			continue
		}
		r.follow(found, p.Architecture)
	}
	for p := range r.held {
		held = append(held, *p)
	}
	slices.SortFunc(held, func(a, b DebianPackage) int { return slices.Compare(a.key(), b.key()) })
	for _, l := range r.lacks {
		unresolved = append(unresolved, l.String())
	}
	slices.Sort(unresolved)
	return held, missing, unresolved
}

func (p DebianPackage) key() []string { return []string{p.Name, p.Version, p.Architecture, p.Filename} }

// asked converts a package on a list to a dependency on this package.
func asked(p Package) dependency.Possibility {
	is := dependency.Possibility{Name: p.Name}
	if p.Version != "" {
		is.Version = &dependency.VersionRelation{Operator: "=", Number: p.Version}
	}
	return is
}

// resolution is the state of one call of Resolve.
type resolution struct {
	index *PackageIndex
	seen  map[visit]bool
	held  map[*DebianPackage]bool
	lacks map[string]*lack // by package name, or by the text of the relation if it has alternatives
}

// visit is a package and the architecture of the node on which it is needed. A package for all
// architectures is visited once for each architecture, because on each of them it depends on other
// packages.
type visit struct {
	*DebianPackage
	architecture string
}

// follow adds a package and all its dependencies. Chains of dependencies can have any length, so it
// uses a stack of its own instead of recursion.
func (r *resolution) follow(first *DebianPackage, architecture string) {
	for open := []visit{{first, architecture}}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if r.seen[at] {
			continue
		}
		r.seen[at], r.held[at.DebianPackage] = true, true
		if at.architecture == "" && at.Architecture != everywhere {
			at.architecture = at.Architecture
		}
		for _, need := range append(relations(at.PreDepends), relations(at.Depends)...) {
			if met := r.index.first(need.alternatives, at.architecture); met != nil {
				open = append(open, visit{met, at.architecture})
			} else {
				r.lack(need, at.Name)
			}
		}
	}
}

// lack is a dependency that no package in the index satisfies.
type lack struct {
	text   string
	number version.Version
	by     []string
}

func (r *resolution) lack(need relation, by string) {
	name, number := need.text, version.Version{}
	if len(need.alternatives) == 1 {
		name = need.alternatives[0].Name
		if v := need.alternatives[0].Version; v != nil {
			number, _ = version.Parse(v.Number) // an error gives the zero version, which is lower than every other
		}
	}
	l := r.lacks[name]
	if l == nil {
		l = &lack{text: need.text, number: number}
		r.lacks[name] = l
	}
	if version.Compare(number, l.number) > 0 {
		l.text, l.number = need.text, number
	}
	if !slices.Contains(l.by, by) {
		l.by = append(l.by, by)
	}
}

func (l *lack) String() string {
	if first := slices.Min(l.by); len(l.by) > 1 {
		return fmt.Sprintf("%s, which %s and %d more need", l.text, first, len(l.by)-1)
	}
	return fmt.Sprintf("%s, which %s needs", l.text, l.by[0])
}

// first tries the alternatives in their order. It returns the package for the first alternative
// that the index satisfies, or nil if the index satisfies none. apt chooses the same alternative.
func (x *PackageIndex) first(alternatives []dependency.Possibility, architecture string) *DebianPackage {
	for _, a := range alternatives {
		if found := x.find(a, architecture); found != nil {
			return found
		}
	}
	return nil
}

// find returns the newest package that satisfies a dependency on a node of the given architecture,
// or nil if there is none. An empty architecture means any. A package with the name of the
// dependency has priority over packages that only provide this name. Qualifiers such as :any in
// python3:any are ignored, because a node has only one architecture.
func (x *PackageIndex) find(need dependency.Possibility, architecture string) *DebianPackage {
	var best *DebianPackage
	consider := func(p *DebianPackage, v *version.Version) {
		fits := architecture == "" || p.Architecture == everywhere || p.Architecture == architecture
		if need.Version != nil && (v == nil || !need.Version.SatisfiedBy(*v)) {
			fits = false
		}
		if fits && (best == nil || version.Compare(p.number, best.number) > 0) {
			best = p
		}
	}
	for _, p := range x.packages[need.Name] {
		consider(p, &p.number)
	}
	if best != nil {
		return best
	}
	for _, p := range x.provided[need.Name] {
		consider(p.by, p.version)
	}
	return best
}
