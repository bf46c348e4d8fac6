package software

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Conflict is a package that Softwares request differently, or that one requests in a way that the webhook
// refuses today.
type Conflict struct {
	Package string
	// Softwares are the names of the objects, sorted. Message says what each of them requests.
	Softwares []string
	Message   string
}

// Merge returns the packages that all Softwares of a cluster request, sorted by name, without files. A
// package of a Conflict has contract.Software.Problem. nodes are the nodes of the cluster: if one of them is
// control plane and worker, each package has one entry for both roles, and otherwise each role can have its
// own. So a node never gets two entries of one name. If the package of an entry is not known, the first
// result has an empty name and a Problem, so that nothing is removed.
func Merge(all []*v1alpha1.Software, nodes []contract.Node) ([]contract.Software, []Conflict) {
	packages, conflicts := collect(all)
	both := nodeWithBothRoles(nodes)
	var wanted []contract.Software
	if len(conflicts) > 0 {
		first := slices.MinFunc(conflicts, func(a, b Conflict) int { return cmp.Compare(a.Message, b.Message) })
		wanted = append(wanted, contract.Software{Problem: "BPA removes no package of the cluster until all entries can be read: " + first.Message})
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		entries, found := packages[name].merge(name, both)
		wanted, conflicts = append(wanted, entries...), append(conflicts, found...)
	}
	slices.SortStableFunc(conflicts, func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Message, b.Message))
	})
	return wanted, conflicts
}

// request is what one Software requests of a package for one role.
type request struct {
	software, version string
	disruption        contract.Disruption
	held              bool
	problem           string // why the webhook would refuse it
}

// requests are all requests of one package.
type requests struct{ controlPlanes, workers []request }

// collect sorts the requests by package. Conflicts are the entries without a usable name.
func collect(all []*v1alpha1.Software) (map[string]*requests, []Conflict) {
	packages, conflicts := map[string]*requests{}, []Conflict(nil)
	add := func(s *v1alpha1.Software, entries []v1alpha1.SoftwareEntry, list func(*requests) *[]request) {
		for _, e := range entries {
			problem := problemOf(s, e)
			if admission.CheckPackage(v1alpha1.SoftwareEntry{Name: e.Name}) != nil {
				conflicts = append(conflicts, Conflict{cmp.Or(e.Name, e.Invalid), []string{s.Name}, problem})
				continue
			}
			if packages[e.Name] == nil {
				packages[e.Name] = &requests{}
			}
			of := list(packages[e.Name])
			*of = append(*of, request{s.Name, e.Version, contract.Disruption(e.Disruption), !s.Spec.AutoUpdates(), problem})
		}
	}
	for _, s := range slices.SortedFunc(slices.Values(all), func(a, b *v1alpha1.Software) int { return cmp.Compare(a.Name, b.Name) }) {
		if s.DeletionTimestamp == nil { // what a Software requests that is being deleted counts no more
			add(s, s.Spec.MasterSoftware, func(r *requests) *[]request { return &r.controlPlanes })
			add(s, s.Spec.WorkerSoftware, func(r *requests) *[]request { return &r.workers })
		}
	}
	return packages, conflicts
}

// problemOf returns the reason why the webhook would refuse an entry; empty: it would not.
func problemOf(s *v1alpha1.Software, e v1alpha1.SoftwareEntry) string {
	for _, err := range admission.CheckPackage(e).WrappedErrors() {
		return fmt.Sprintf("in Software %s, %s: %s", s.Name, err.Message, err.Details)
	}
	return ""
}

// nodeWithBothRoles returns the name of a node that is control plane and worker; empty: there is none.
func nodeWithBothRoles(nodes []contract.Node) (first string) {
	for _, n := range nodes {
		if slices.Contains(n.Roles, contract.RoleControlPlane) && slices.Contains(n.Roles, contract.RoleWorker) && (first == "" || n.Name < first) {
			first = n.Name
		}
	}
	return first
}

// merge returns one entry of the package, or one for each role. both is a node with both roles.
func (r *requests) merge(name, both string) (entries []contract.Software, conflicts []Conflict) {
	all := slices.Concat(r.controlPlanes, r.workers)
	held := slices.ContainsFunc(all, func(r request) bool { return r.held })
	groups := []group{{"control planes", r.controlPlanes, true, false}, {"workers", r.workers, false, true}}
	if both != "" {
		where := "node " + both + ", which is control plane and worker"
		for _, g := range groups {
			if len(pins(g.requests)) > 1 {
				where = g.where
				break
			}
		}
		groups = []group{{where, all, len(r.controlPlanes) > 0, len(r.workers) > 0}}
	}
	for _, g := range groups {
		if len(g.requests) == 0 {
			continue
		}
		s, conflict := g.merge(name, held)
		entries = append(entries, s)
		if conflict != nil {
			conflicts = append(conflicts, *conflict)
		}
	}
	if len(entries) == 2 && sameForAll(entries[0]) == sameForAll(entries[1]) {
		entries[0].Workers = true
		entries = entries[:1]
	}
	return entries, conflicts
}

// essence is what two entries of a package must have in common to become one.
type essence struct {
	version, problem string
	hold             bool
	disruption       contract.Disruption
}

func sameForAll(s contract.Software) essence {
	return essence{s.Version, s.Problem, s.Hold, s.Disruption}
}

// group are requests of a package that must agree.
type group struct {
	where                  string // the nodes, for a message
	requests               []request
	controlPlanes, workers bool
}

// merge returns the entry of the group.
func (g group) merge(name string, held bool) (contract.Software, *Conflict) {
	s := contract.Software{Name: name, ControlPlanes: g.controlPlanes, Workers: g.workers, Disruption: contract.DisruptionNone}
	for _, r := range g.requests {
		if strength(r.disruption) > strength(s.Disruption) {
			s.Disruption = r.disruption
		}
	}
	for _, r := range g.requests {
		if r.problem != "" {
			s.Problem = r.problem
			return s, &Conflict{name, []string{r.software}, s.Problem}
		}
	}
	versions := pins(g.requests)
	switch len(versions) {
	case 0:
		s.Hold = held
		return s, nil
	case 1:
		s.Version, s.Pinned = versions[0], true
		return s, nil
	}
	var who, names []string
	for _, version := range versions {
		by := softwares(g.requests, version)
		who, names = append(who, version+" by "+strings.Join(by, " and ")), append(names, by...)
	}
	slices.Sort(names)
	s.Problem = fmt.Sprintf("different versions of package %s are requested for %s: %s. Write the same version in all of them, or a version in only one",
		name, g.where, strings.Join(who, ", "))
	return s, &Conflict{name, slices.Compact(names), s.Problem}
}

// pins returns the versions that are requested, sorted.
func pins(all []request) (versions []string) {
	for _, r := range all {
		if r.version != "" {
			versions = append(versions, r.version)
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

// softwares returns the names of the Softwares that request a version, sorted.
func softwares(all []request, version string) (names []string) {
	for _, r := range all {
		if r.version == version {
			names = append(names, r.software)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// strength orders disruptions.
func strength(d contract.Disruption) int {
	return slices.Index([]contract.Disruption{contract.DisruptionDrain, contract.DisruptionReboot}, d)
}
