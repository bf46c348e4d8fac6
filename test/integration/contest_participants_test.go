//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	hostcache "github.com/akraino-icn/bpa/pkg/hosts/cache"
	"github.com/akraino-icn/bpa/pkg/hosts/claim"
)

// participant is a process of the contest. It runs the same program as the test.
type participant struct {
	Replica    bool   `json:"replica,omitempty"` // false: a claimant
	Number     int    `json:"number"`
	Round      int    `json:"round"` // first round of a claimant
	Kubeconfig string `json:"kubeconfig"`
}

// participantVariable is the name of the environment variable with a participant, as JSON. A
// process that has the variable runs this participant instead of the tests.
const participantVariable = "BPA_CONTEST_PARTICIPANT"

func init() {
	text := os.Getenv(participantVariable)
	if text == "" {
		return
	}
	var p participant
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.run(context.Background())
	}
	fmt.Fprintln(os.Stderr, "participant", text, err)
	os.Exit(1) // a failure, because a participant runs until it is killed
}

func (p participant) run(ctx context.Context) error {
	if p.Replica {
		return p.reconcile(ctx)
	}
	admin, err := accountClient(p.Kubeconfig, "")
	if err != nil {
		return err
	}
	for round := p.Round; ; round++ {
		request := makeRequest(p.Number, round)
		c, err := accountClient(p.Kubeconfig, contract.ServiceAccountName(request.Provisioning, contract.TaskSelectHosts))
		if err != nil {
			return err
		}
		if err := runRound(ctx, c, admin, request, round); err != nil {
			return err
		}
	}
}

// completed is the result of a round. A claimant prints it as a line of JSON.
type completed struct {
	Round     int      `json:"round"`
	Name      string   `json:"name"`              // of the Provisioning
	Wanted    int      `json:"wanted"`            // number of hosts
	Hosts     []string `json:"hosts,omitempty"`   // nil if the claimant got none
	Version   int64    `json:"version,omitempty"` // resource version at which the claimant held the hosts
	Lost      int      `json:"lost"`              // attempts to claim that failed because of other holders
	Conflicts int      `json:"conflicts"`         // writes that failed with a conflict
}

// runRound tries up to four times to claim the hosts of a request. It then marks the round, so that
// the replicas release the hosts, and prints the result.
func runRound(ctx context.Context, c client.WithWatch, admin client.Client, request contract.Request, round int) error {
	object := roundOf(request)
	err := admin.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) { // the claimant was killed during this round, and continues it
		err = admin.Get(ctx, client.ObjectKeyFromObject(object), object)
	}
	if err != nil {
		return err
	}
	if object.Data[keyRelease] != "" { // the claimant was killed after the round was over, before it printed the result
		return nil
	}
	result := completed{Round: round, Name: request.Provisioning, Wanted: len(request.Slots)}
	c = counting(c, &result.Conflicts)
	for result.Lost < 4 && result.Hosts == nil {
		made, err := claim.Make(ctx, c, request)
		var nofit *assign.NoFit
		switch {
		case err == nil:
			for _, node := range made.Nodes {
				result.Hosts = append(result.Hosts, node.Host)
			}
		case errors.As(err, &nofit), errors.Is(err, claim.ErrContested):
			result.Lost++
			time.Sleep(rand.N(time.Second)) // the reconciler also waits before the next attempt, but much longer
		default:
			return err
		}
	}
	object.Data[keyRelease] = "now"
	if err := admin.Update(ctx, object); err != nil {
		return err
	}
	result.Version = version(object.ResourceVersion)
	return json.NewEncoder(os.Stdout).Encode(result)
}

// counting returns a client that counts, in conflicts, the patches that fail with a conflict. A
// claim may release hosts concurrently, so the counter has a lock.
func counting(c client.WithWatch, conflicts *int) client.WithWatch {
	var mu sync.Mutex
	return interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			err := c.Patch(ctx, object, patch, options...)
			if apierrors.IsConflict(err) {
				mu.Lock()
				defer mu.Unlock()
				*conflicts++
			}
			return err
		},
	})
}

// reconcile does the work of a controller replica with a separate cache of hosts: it plans each
// round, and releases the hosts of rounds that are over.
func (p participant) reconcile(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return err
	}
	seen, err := hostcache.New(ctx, config)
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	wake := func(string, string, ...types.NamespacedName) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if err := seen.Watch(ctx, wake); err != nil {
		return err
	}
	if err := seen.Start(ctx); err != nil {
		return err
	}
	admin, err := accountClient(p.Kubeconfig, "")
	if err != nil {
		return err
	}
	planned := map[string]bool{}
	tick := time.NewTicker(200 * time.Millisecond) // rounds are not watched, so they are listed at each tick
	defer tick.Stop()
	for {
		<-tick.C
		if err := p.processRounds(ctx, admin, seen, planned); err != nil {
			return err
		}
		select {
		case <-changed:
		default:
		}
	}
}

// processRounds plans each new round once, as the controller plans before it starts a run. It
// releases the hosts of the rounds that are over.
func (p participant) processRounds(ctx context.Context, admin client.Client, seen *hostcache.Cache, planned map[string]bool) error {
	var rounds corev1.ConfigMapList
	if err := admin.List(ctx, &rounds, client.InNamespace(contestNamespace), client.MatchingLabels{labelRound: "round"}); err != nil {
		return err
	}
	all, err := seen.All(ctx, contestNamespace)
	if err != nil {
		return err
	}
	for i := range rounds.Items {
		round := &rounds.Items[i]
		var request contract.Request
		if err := json.Unmarshal([]byte(round.Data[contract.KeyRequest]), &request); err != nil {
			return err
		}
		if round.Data[keyRelease] == "" {
			if planned[round.Name] {
				continue
			}
			planned[round.Name] = true
			var nofit *assign.NoFit
			if _, err := assign.Assign(request, all); err != nil && !errors.As(err, &nofit) {
				return fmt.Errorf("plan %s: %w", round.Name, err)
			}
			continue
		}
		// Both replicas release every fourth round at once, as can happen when the lease changes
		// to another replica.
		if n := len(request.Slots); n%4 != 0 && n%replicas != p.Number {
			continue
		}
		if _, _, err := seen.Release(ctx, hosts.OwnerOf(request)); err != nil {
			return err
		}
		// The ConfigMap is not deleted, so that a claimant that was killed at the end of the round
		// does not repeat it.
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"over"}}}`, labelRound)
		if err := admin.Patch(ctx, round, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			return err
		}
	}
	return nil
}

// accountClient returns a client that acts as a service account of contestNamespace, or as the
// administrator if account is empty. It has no rate limit.
func accountClient(kubeconfig, account string) (client.WithWatch, error) {
	config, scheme, err := accountConfig(kubeconfig, account)
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// accountConfig returns the configuration and the scheme of accountClient.
func accountConfig(kubeconfig, account string) (*rest.Config, *runtime.Scheme, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	config.QPS, config.DisableCompression = -1, true
	if account != "" {
		config.Impersonate.UserName = "system:serviceaccount:" + contestNamespace + ":" + account
		config.Impersonate.Groups = []string{"system:authenticated", "system:serviceaccounts:" + contestNamespace}
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metal3.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, nil, err
		}
	}
	return config, scheme, nil
}

// writeNoise changes hosts as Metal3 and users do, until ctx ends. It changes only labels and
// status fields that do not affect a claim.
func writeNoise(ctx context.Context, admin client.Client) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		host := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("host-%03d", rand.N(contestHosts)), Namespace: contestNamespace}}
		var err error
		if n%2 == 0 {
			err = admin.Patch(ctx, host, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"%d"}}}`, n)))
		} else {
			err = admin.Status().Patch(ctx, host, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{"errorCount":%d}}`, n)))
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("write noise: %w", err)
		}
	}
}

// compete claims free hosts for a holder that is not a Provisioning, as Cluster API does, and then
// releases them, until ctx ends. It fails if this holder loses a host before it releases it.
func compete(ctx context.Context, admin client.Client) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		key := client.ObjectKey{Namespace: contestNamespace, Name: fmt.Sprintf("host-%03d", rand.N(contestHosts))}
		host := &metal3.BareMetalHost{}
		if err := admin.Get(ctx, key, host); err != nil {
			return endOf(ctx, err)
		}
		if host.Spec.ConsumerRef == nil {
			host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "Metal3Machine", Name: "machine-1", Namespace: contestNamespace}
			// The update is not interrupted when ctx ends. After an interrupted update, it would be
			// unknown whether the host must be released.
			if err := admin.Update(context.WithoutCancel(ctx), host); err != nil && !apierrors.IsConflict(err) {
				return endOf(ctx, err)
			} else if err == nil {
				<-tick.C
				if err := releaseForeign(context.WithoutCancel(ctx), admin, key); err != nil {
					return err
				}
			}
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// endOf returns nil if ctx has ended, because the end of ctx is then the cause of err. Otherwise it
// returns err.
func endOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("compete: %w", err)
}

// releaseForeign releases a host that compete has claimed.
func releaseForeign(ctx context.Context, admin client.Client, key client.ObjectKey) error {
	for {
		host := &metal3.BareMetalHost{}
		if err := admin.Get(ctx, key, host); err != nil {
			return err
		}
		if host.Spec.ConsumerRef == nil || host.Spec.ConsumerRef.Name != "machine-1" {
			return fmt.Errorf("host %s is no longer held by machine-1, which has not released it", key.Name)
		}
		host.Spec.ConsumerRef = nil
		if err := admin.Update(ctx, host); !apierrors.IsConflict(err) {
			return err
		}
	}
}
