package cache

import (
	"context"
	"fmt"
	"reflect"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/claim"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// indexHolder is the index of hosts by the namespace and the name of the object that holds them. If this is a
// Provisioning, the host is also indexed by "NAMESPACE/".
const indexHolder = "holder"

// Cache holds the hosts of the site.
type Cache struct {
	cache cache.Cache
	live  client.Client
	// hardware reports that the cluster has the kind HardwareData, which older versions of Metal3
	// do not have.
	hardware bool
	// policies reports the same of the kind HostDeployPolicy.
	policies bool
}

// These limits for calls of the API server replace the defaults of client-go. The defaults are so
// low that the release of a cluster with hundreds of hosts would take long. The API server has its
// own protection against overload.
const callsPerSecond, callsAtOnce = 200, 400

// New makes an empty cache, which Start fills. The cluster must have the kind BareMetalHost.
func New(ctx context.Context, config *rest.Config) (*Cache, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.RateLimiter = callsPerSecond, callsAtOnce, nil
	config.DisableCompression = true // the API server is on this machine: compressing a list takes longer than sending it
	scheme := runtime.NewScheme()
	if err := metal3.AddToScheme(scheme); err != nil {
		return nil, err
	}
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("client for hosts: %w", err)
	}
	c := &Cache{live: live}
	for kind, exists := range map[string]*bool{"HardwareData": &c.hardware, "HostDeployPolicy": &c.policies} {
		_, err = live.RESTMapper().RESTMapping(metal3.GroupVersion.WithKind(kind).GroupKind(), metal3.GroupVersion.Version)
		if err != nil && !meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("check whether the kind %s exists: %w", kind, err)
		}
		*exists = err == nil
	}
	c.cache, err = cache.New(config, cache.Options{
		Scheme: scheme,
		Mapper: live.RESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			&metal3.BareMetalHost{}: {Transform: stripHost},
			&metal3.HardwareData{}:  {Transform: stripHardware},
			namespaceMetadata():     {Transform: stripNamespace},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cache of hosts: %w", err)
	}
	return c, c.cache.IndexField(ctx, &metal3.BareMetalHost{}, indexHolder, holderOf)
}

func holderOf(o client.Object) []string {
	if holder := facts.HolderOf(o.(*metal3.BareMetalHost)); holder != nil {
		if holder.Group != hosts.Group || holder.Kind != hosts.Kind {
			return []string{holder.Namespace + "/" + holder.Name}
		}
		return []string{holder.Namespace + "/" + holder.Name, holder.Namespace + "/"}
	}
	return nil
}

// Start fills the cache and returns. The cache is kept up to date until ctx ends.
func (c *Cache) Start(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- c.cache.Start(ctx) }()
	filled := make(chan bool, 1)
	go func() { filled <- c.cache.WaitForCacheSync(ctx) }()
	select {
	case err := <-failed:
		return fmt.Errorf("fill the cache of hosts: %w", err)
	case ok := <-filled:
		if !ok {
			return fmt.Errorf("fill the cache of hosts: %w", context.Cause(ctx))
		}
		return nil
	}
}

// Watch calls changed after every change of a host that can affect an assignment. It must be called
// before Start. holders are the host's holders before and after the change.
func (c *Cache) Watch(ctx context.Context, changed func(namespace, host string, holders ...types.NamespacedName)) error {
	informer, err := c.cache.GetInformer(ctx, &metal3.BareMetalHost{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch BareMetalHosts: %w", err)
	}
	if _, err := informer.AddEventHandler(handler(hostFacts, changed)); err != nil {
		return err
	}
	if !c.hardware {
		return nil
	}
	informer, err = c.cache.GetInformer(ctx, &metal3.HardwareData{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch HardwareData: %w", err)
	}
	_, err = informer.AddEventHandler(handler(hardwareFacts, changed))
	return err
}

// seen has the facts of a host, which are compared to detect a change, and the name of its holder.
type seen struct {
	namespace, host string
	holder          types.NamespacedName
	facts           any
}

func hostFacts(o any) (seen, bool) {
	host, ok := o.(*metal3.BareMetalHost)
	if !ok {
		return seen{}, false
	}
	s := seen{namespace: host.Namespace, host: host.Name, facts: facts.Of(host, nil)}
	if holder := facts.HolderOf(host); holder != nil {
		s.holder = types.NamespacedName{Namespace: holder.Namespace, Name: holder.Name}
	}
	return s, true
}

func hardwareFacts(o any) (seen, bool) {
	data, ok := o.(*metal3.HardwareData)
	if !ok {
		return seen{}, false
	}
	return seen{namespace: data.Namespace, host: data.Name, facts: data.Spec.HardwareDetails}, true
}

func handler(read func(any) (seen, bool), changed func(namespace, host string, holders ...types.NamespacedName)) toolscache.ResourceEventHandler {
	notify := func(o any) {
		if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		if s, ok := read(o); ok {
			changed(s.namespace, s.host, s.holder)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    notify,
		DeleteFunc: notify,
		UpdateFunc: func(before, after any) {
			b, ok := read(before)
			a, okay := read(after)
			if ok && okay && !reflect.DeepEqual(a.facts, b.facts) {
				changed(a.namespace, a.host, b.holder, a.holder)
			}
		},
	}
}

// All returns the hosts of a namespace, including the facts from their HardwareData.
func (c *Cache) All(ctx context.Context, namespace string) ([]hosts.Host, error) {
	var found []hosts.Host
	err := c.each(ctx, func(host *metal3.BareMetalHost) {
		var data *metal3.HardwareData
		if c.hardware {
			got := &metal3.HardwareData{}
			if err := c.cache.Get(ctx, client.ObjectKeyFromObject(host), got, &client.GetOptions{UnsafeDisableDeepCopy: new(true)}); err == nil {
				data = got
			}
		}
		found = append(found, facts.Of(host, data))
	}, client.InNamespace(namespace))
	return found, err
}

// Release gives back every host that the owner holds, and returns the names of these hosts. Hosts
// in leaving stay held until Metal3 has removed their image. It finds the hosts in two ways,
// because each can miss some. It searches the cache, which may not be up to date. It also searches
// by the label of the claim, which a user may have removed.
func (c *Cache) Release(ctx context.Context, owner hosts.Owner) (released []string, leaving []hosts.Leaving, err error) {
	names, err := c.heldNames(ctx, owner)
	if err != nil {
		return nil, nil, err
	}
	return claim.ReleaseAll(ctx, c.live, owner, names...)
}

// Retain is like Release, but leaves the hosts and their images as they are.
func (c *Cache) Retain(ctx context.Context, owner hosts.Owner) ([]string, error) {
	names, err := c.heldNames(ctx, owner)
	if err != nil {
		return nil, err
	}
	return claim.Retain(ctx, c.live, owner, names...)
}

func (c *Cache) heldNames(ctx context.Context, owner hosts.Owner) (names []string, err error) {
	held, err := c.Held(ctx, owner)
	for _, h := range held {
		names = append(names, h.Name)
	}
	return names, err
}

// GiveBack is like Release for those of the named hosts that the owner holds.
func (c *Cache) GiveBack(ctx context.Context, owner hosts.Owner, names []string) ([]string, []hosts.Leaving, error) {
	return claim.Release(ctx, c.live, owner, names)
}

// ReleaseGivenUp releases those of the named hosts that the owner holds and that select-hosts has
// given up. It returns the names of the hosts that are free now.
func (c *Cache) ReleaseGivenUp(ctx context.Context, owner hosts.Owner, names []string) ([]string, error) {
	return claim.ReleaseGivenUp(ctx, c.live, owner, names)
}

// Mark records on those of the named hosts that the owner holds that they contain a part of the
// user's cluster. Unmark removes such records. Both return the names of the hosts that they changed.
func (c *Cache) Mark(ctx context.Context, owner hosts.Owner, user contract.User, names []string) ([]string, error) {
	return claim.Mark(ctx, c.live, owner, user, names)
}

func (c *Cache) Unmark(ctx context.Context, owner hosts.Owner, names []string) ([]string, error) {
	return claim.Unmark(ctx, c.live, owner, names)
}

// PowerOn asks Metal3 to switch on those of the named hosts that the owner holds for a node.
func (c *Cache) PowerOn(ctx context.Context, owner hosts.Owner, names []string) ([]string, error) {
	return claim.PowerOn(ctx, c.live, owner, names)
}

// Fence asks Metal3 to power off those of the named hosts that the owner holds and that are lost, for the user.
// Unfence asks Metal3 to power on those that Fence has powered off and that are not lost any more.
// Both return the names of the hosts that they changed.
func (c *Cache) Fence(ctx context.Context, owner hosts.Owner, user contract.User, names []string, at time.Time) ([]string, error) {
	return claim.Fence(ctx, c.live, owner, user, names, at)
}

func (c *Cache) Unfence(ctx context.Context, owner hosts.Owner, names []string) ([]string, error) {
	return claim.Unfence(ctx, c.live, owner, names)
}

// Image asks Metal3 to install the image on those of the named hosts that the owner holds. nodes
// maps the name of each host to its node. Image returns the names of the hosts that it changed.
func (c *Cache) Image(ctx context.Context, owner hosts.Owner, image contract.OSImage, nodes map[string]string) ([]string, error) {
	return claim.Image(ctx, c.live, owner, image, nodes)
}
