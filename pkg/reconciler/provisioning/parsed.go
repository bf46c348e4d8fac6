package provisioning

import (
	"encoding/json"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
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

// readJSON sets into to what the JSON in this field of an object says. Invalid JSON leaves into as it is.
func (all texts) readJSON(object, field, now string, into any) {
	target := reflect.ValueOf(into).Elem()
	says := all.parse(source{object, field, target.Type()}, now, func(now string) any {
		value := reflect.New(target.Type())
		_ = json.Unmarshal([]byte(now), value.Interface())
		return value.Elem().Interface()
	})
	target.Set(reflect.ValueOf(says))
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

// readStates reads the states of the hosts, the record of the cluster and the claimed nodes.
func (r *Reconciler) readStates(p *v1alpha1.Provisioning, cm *corev1.ConfigMap, seen *plan.Seen) {
	all := r.parsed.about(keyOf(p))
	seen.States = parse(all, cm.Name, contract.KeyHosts, cm.Data[contract.KeyHosts], readHostStates)
	// The controller creates the ConfigMap without the key. A task of an older build never writes it.
	seen.Recorded = seen.States != nil
	seen.Proved = cm.Data[contract.KeyProved]
	seen.Memory = parse(all, cm.Name, contract.KeyInstalled, cm.Data[contract.KeyInstalled], readInstalled)
	all.readJSON(cm.Name, contract.KeyClaimed, cm.Data[contract.KeyClaimed], &seen.Nodes)
}

// readHostStates returns nil if there are no states, or if they cannot be parsed.
func readHostStates(text string) contract.HostStates {
	states, err := contract.ParseHostStates(text)
	if err != nil {
		return nil
	}
	return states
}

// readInstalled returns nil if there is no record, or if it cannot be parsed. It is then rebuilt: see Seen.Remember.
func readInstalled(text string) *contract.Installed {
	installed := &contract.Installed{}
	if text == "" || json.Unmarshal([]byte(text), installed) != nil || len(installed.Nodes) == 0 {
		return nil
	}
	return installed
}

// readSoftware returns the record of the packages. It is empty if it cannot be parsed, as in readJSON.
func (r *Reconciler) readSoftware(p *v1alpha1.Provisioning, cm *corev1.ConfigMap) contract.SoftwareRecord {
	return parse(r.parsed.about(keyOf(p)), cm.Name, contract.KeySoftware, cm.Data[contract.KeySoftware], func(text string) contract.SoftwareRecord {
		record, _ := contract.ParseSoftwareRecord(text)
		return record
	})
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

// readRequest returns the request of a run. It returns the zero value if this build of BPA cannot read it, because
// another build wrote it.
func (r *Reconciler) readRequest(p *v1alpha1.Provisioning, cm *corev1.ConfigMap) contract.Request {
	return parse(r.parsed.about(keyOf(p)), cm.Name, contract.KeyRequest, cm.Data[contract.KeyRequest], func(text string) (request contract.Request) {
		if json.Unmarshal([]byte(text), &request) != nil {
			return contract.Request{}
		}
		return request
	})
}
