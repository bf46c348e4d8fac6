package hosts

import (
	"fmt"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Tenancy is what the namespace of an owner, the tenant, may do with hosts.
type Tenancy struct {
	// Refused says why the owner may not claim hosts of another namespace, and what to do; empty: it may.
	Refused string
	// MaxHosts is the largest number of hosts that all Provisionings of the tenant may hold together; nil:
	// there is no limit.
	MaxHosts *int
	// Here and Elsewhere are, with a limit, the numbers of hosts, without lost ones, that the tenant holds in the namespace of the owner's
	// hosts, and in other namespaces.
	Here, Elsewhere int
}

// MaxHere returns the number of hosts that the tenant may hold in the namespace of the owner's hosts; nil:
// there is no limit.
func (t Tenancy) MaxHere() *int {
	if t.MaxHosts == nil {
		return nil
	}
	return new(max(0, *t.MaxHosts-t.Elsewhere))
}

// OverLimit reports that a tenant would hold more hosts than it may.
type OverLimit struct {
	Tenant string
	// Max is the number of hosts that the tenant may hold, Others is the number that its other Provisionings
	// hold, and Wanted the number that this one would hold.
	Max, Others, Wanted int
}

func (e *OverLimit) Error() string {
	return fmt.Sprintf("namespace %s may hold at most %d hosts (annotation %s of the namespace): its other Provisionings hold %d, and this one would hold %d. "+
		"What to do: request fewer nodes, remove another cluster, or ask an administrator for a higher limit", e.Tenant, e.Max, contract.AnnotationMaxHosts, e.Others, e.Wanted)
}

// Within returns an *OverLimit if a tenant may hold at most limit hosts, its other Provisionings hold others, and
// one is to hold wanted. nil: there is no limit.
func Within(limit *int, tenant string, others, wanted int) error {
	if limit == nil || others+wanted <= *limit {
		return nil
	}
	return &OverLimit{Tenant: tenant, Max: *limit, Others: others, Wanted: wanted}
}
