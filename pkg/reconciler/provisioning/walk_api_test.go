package provisioning

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
)

// The files walk_*_test.go are a simulator of a site, in which the walk plays operations. walk_api_test.go is the API
// server with the controller's caches, which lag, and walk_client_test.go are its clients, which die. walk_hosts_test.go
// is Metal3 with the machines. walk_tekton_test.go is Tekton, walk_tasks_test.go are the tasks, and the task kubespray is
// walk_kubespray_test.go, walk_leave_test.go and walk_playbooks_test.go. walk_site_test.go is the site as a whole,
// walk_operations_test.go are its users, and walk_check_test.go says what is wrong with it.
//
// The code of the controller, of select-hosts, of render-inventory and of the records of kubespray is that of BPA.
// These are not played: the controllers of accesses, of Softwares and of Backups, of which the walk writes the objects
// that the Provisioning needs; the rotation of a kubeconfig; images of operating systems.

// Kinds of objects of the simulated API server.
const (
	kindProvisioning = "provisionings"
	kindRun          = "pipelineruns"
	kindTask         = "taskruns"
	kindConfigMap    = "configmaps"
	kindSecret       = "secrets"
	kindAccount      = "serviceaccounts"
	kindRole         = "roles"
	kindBinding      = "rolebindings"
	kindBackup       = "backups"
	kindSoftware     = "softwares"
	kindHost         = "baremetalhosts"
)

// cachedKinds are those that the controller reads from a cache.
var cachedKinds = []string{kindProvisioning, kindRun, kindTask, kindConfigMap, kindSecret, kindBinding, kindBackup, kindSoftware, kindHost}

type simObject interface {
	metav1.Object
	runtime.Object
}

// simServer is an API server with one namespace. Nobody changes an object that is in it: each write stores another
// one.
type simServer struct {
	now     func() time.Time
	version int
	objects map[string]map[string]simObject // by kind and name
	caches  map[string]cache.Indexer
	behind  map[string][]simEvent // by kind: what the cache does not show yet, the oldest first
}

// simEvent is a change of an object; nil: it was deleted.
type simEvent struct {
	name    string
	object  simObject
	version int // of the API server
}

func newSimServer(now func() time.Time) *simServer {
	s := &simServer{now: now, objects: map[string]map[string]simObject{}, caches: map[string]cache.Indexer{}, behind: map[string][]simEvent{}}
	for _, kind := range cachedKinds {
		s.caches[kind] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	if err := errors.Join(s.caches[kindRun].AddIndexers(runIndex), s.caches[kindProvisioning].AddIndexers(waitingIndex), caches.IndexClusters(s.caches[kindProvisioning]), caches.IndexClusters(s.caches[kindSoftware])); err != nil {
		panic(err)
	}
	return s
}

// set stores an object, which nobody changes any more.
func (s *simServer) set(kind string, o simObject) {
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	if o.GetUID() == "" {
		o.SetUID(types.UID("uid-" + strconv.Itoa(s.version)))
		o.SetCreationTimestamp(metav1.Time{Time: s.now()})
	}
	if s.objects[kind] == nil {
		s.objects[kind] = map[string]simObject{}
	}
	s.objects[kind][o.GetName()] = o
	s.tell(kind, o.GetName(), o)
}

func (s *simServer) remove(kind, name string) {
	s.version++
	delete(s.objects[kind], name)
	s.tell(kind, name, nil)
}

func (s *simServer) tell(kind, name string, o simObject) {
	if _, cached := s.caches[kind]; cached {
		s.behind[kind] = append(s.behind[kind], simEvent{name, o, s.version})
	}
}

// sortSince puts those changes of a kind that came after this version into the order of the objects' names.
func (s *simServer) sortSince(version int, kind string) {
	later := s.behind[kind]
	for len(later) > 0 && later[0].version <= version {
		later = later[1:]
	}
	slices.SortStableFunc(later, func(a, b simEvent) int { return strings.Compare(a.name, b.name) })
}

// catchUp shows the cache of a kind the next n changes. It calls changed after each.
func (s *simServer) catchUp(kind string, n int, changed func(kind string, before, after simObject)) {
	for _, e := range s.behind[kind][:n] {
		err := error(nil)
		var before simObject
		if o, exists, _ := s.caches[kind].GetByKey(site + "/" + e.name); exists {
			before = o.(simObject)
		}
		if e.object != nil {
			err = s.caches[kind].Add(e.object)
		} else {
			err = s.caches[kind].Delete(cache.ExplicitKey(site + "/" + e.name))
		}
		if err != nil {
			panic(err)
		}
		if before != nil || e.object != nil { // an object can be deleted before the cache has shown it
			changed(kind, before, e.object)
		}
	}
	s.behind[kind] = slices.Delete(s.behind[kind], 0, n)
}

// names returns the names of the objects of a kind, sorted.
func (s *simServer) names(kind string) []string {
	names := make([]string, 0, len(s.objects[kind]))
	for name := range s.objects[kind] {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// stored returns an object; nil: it does not exist.
func simStored[T simObject](s *simServer, kind, name string) (none T) {
	if o, ok := s.objects[kind][name]; ok {
		return o.(T)
	}
	return none
}

// simList returns the objects of a kind, sorted by name.
func simList[T simObject](s *simServer, kind string) (all []T) {
	for _, name := range s.names(kind) {
		all = append(all, s.objects[kind][name].(T))
	}
	return all
}

// simChange stores a changed copy of an object.
func simChange[T simObject](s *simServer, kind, name string, change func(T)) {
	next := s.objects[kind][name].DeepCopyObject().(T)
	change(next)
	s.set(kind, next)
}

// collectGarbage deletes the objects of whose owners none exists any more, as Kubernetes' garbage collector does. It
// reports whether there were any.
func (s *simServer) collectGarbage() (found bool) {
	uids := map[types.UID]bool{}
	for _, kind := range []string{kindProvisioning, kindRun} {
		for _, o := range s.objects[kind] {
			uids[o.GetUID()] = true
		}
	}
	for _, kind := range []string{kindRun, kindTask, kindConfigMap, kindSecret, kindAccount, kindRole, kindBinding} {
		var gone []string
		for name, o := range s.objects[kind] {
			owners := o.GetOwnerReferences()
			if len(owners) > 0 && !slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return uids[o.UID] }) {
				gone = append(gone, name)
			}
		}
		slices.Sort(gone)
		for _, name := range gone {
			s.remove(kind, name)
			found = true
		}
	}
	return found
}
