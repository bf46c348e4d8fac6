package provisioning

import (
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// parsed has what the last visit of each Provisioning has parsed. Most visits find the same texts as the visit before, and
// parsing them again would be a third of the work of a visit.
//
// What it has follows from a text alone, so it is never stale. Readers must not change it.
type parsed struct {
	mu sync.Mutex
	of map[key]texts
}

// texts has, by where a text is from, the text that was parsed last and what it says.
type texts map[source]*text

// source is a field of an object that belongs to a Provisioning, and what is read from it.
type source struct {
	object, field string
	as            reflect.Type // the type of what it says
}

type text struct {
	text string
	says any
	used bool // in this visit
}

// about returns the texts of a Provisioning. Two visits of one Provisioning are never at the same time.
func (p *parsed) about(k key) texts {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[key]texts{}
	}
	if p.of[k] == nil {
		p.of[k] = texts{}
	}
	return p.of[k]
}

// forget forgets a Provisioning that was deleted.
func (p *parsed) forget(k key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, k)
}

// parse returns what this field of an object says. It calls read only if the text is another one than the last time.
func parse[T any](all texts, object, field, now string, read func(string) T) T {
	return all.parse(source{object, field, reflect.TypeFor[T]()}, now, func(now string) any { return read(now) }).(T)
}

func (all texts) parse(from source, now string, read func(string) any) any {
	last := all[from]
	if last == nil || last.text != now {
		last = &text{text: now, says: read(now)}
		all[from] = last
	}
	last.used = true
	return last.says
}

// drop ends a visit: it forgets the texts that the visit has not used, such as those of an earlier run.
func (all texts) drop() {
	for from, is := range all {
		if !is.used {
			delete(all, from)
		}
		is.used = false
	}
}

// readKubeconfig reads a stored kubeconfig.
func (r *Reconciler) readKubeconfig(p *v1alpha1.Provisioning, secret *corev1.Secret) (access.Kubeconfig, error) {
	type result struct {
		access.Kubeconfig
		err error
	}
	found := parse(r.parsed.about(keyOf(p)), secret.Name, resources.KeyKubeconfig, string(secret.Data[resources.KeyKubeconfig]), func(string) result {
		k, err := resources.ParseKubeconfig(secret)
		return result{k, err}
	})
	return found.Kubeconfig, found.err
}

// collectedUntil returns when the certificate that the last run has collected expires. It is zero if the certificate
// does not belong to the key.
func (r *Reconciler) collectedUntil(p *v1alpha1.Provisioning, access *resources.Access, key *corev1.Secret) time.Time {
	private := key.Data[resources.KeyPrivateKey]
	return parse(r.parsed.about(keyOf(p)), key.Name, resources.KeyPrivateKey, access.Certificate+string(private), func(string) time.Time {
		return resources.FitsUntil([]byte(access.Certificate), private)
	})
}
