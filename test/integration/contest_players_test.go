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

// player is a process of the contest: this test's program, started again.
type player struct {
	Replica    bool   `json:"replica,omitempty"` // else a claimant
	Number     int    `json:"number"`
	Round      int    `json:"round"` // a claimant's first
	Kubeconfig string `json:"kubeconfig"`
}

// playerVariable holds, in the environment of a process, which player it is.
const playerVariable = "BPA_CONTEST_PLAYER"

func init() {
	text := os.Getenv(playerVariable)
	if text == "" {
		return
	}
	var p player
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.play(context.Background())
	}
	fmt.Fprintln(os.Stderr, "player", text, err)
	os.Exit(1) // until it is killed a player plays
}

func (p player) play(ctx context.Context) error {
	if p.Replica {
		return p.reconcile(ctx)
	}
	admin, err := arenaClient(p.Kubeconfig, "")
	if err != nil {
		return err
	}
	for round := p.Round; ; round++ {
		request := wish(p.Number, round)
		c, err := arenaClient(p.Kubeconfig, contract.ServiceAccountName(request.Provisioning, contract.TaskSelectHosts))
		if err != nil {
			return err
		}
		if err := playRound(ctx, c, admin, request, round); err != nil {
			return err
		}
	}
}

// completed is what a claimant tells on a line about a round that is over.
type completed struct {
	Round   int      `json:"round"`
	Name    string   `json:"name"`
	Wanted  int      `json:"wanted"`
	Hosts   []string `json:"hosts,omitempty"` // nil: it lost
	Version int64    `json:"version,omitempty"`
	Lost    int      `json:"lost"` // claims of this round that others won
	Late    int      `json:"late"` // writes of it that others were before
}

// playRound claims until it has what it wants, a few times, and then has the replicas release it.
func playRound(ctx context.Context, c client.WithWatch, admin client.Client, request contract.Request, round int) error {
	object := roundOf(request)
	err := admin.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) { // killed in the middle of it
		err = admin.Get(ctx, client.ObjectKeyFromObject(object), object)
	}
	if err != nil {
		return err
	}
	if object.Data[keyRelease] != "" { // over, but nobody was told
		return nil
	}
	over := completed{Round: round, Name: request.Provisioning, Wanted: len(request.Slots)}
	c = counting(c, &over.Late)
	for over.Lost < 4 && over.Hosts == nil {
		made, err := claim.Make(ctx, c, request)
		var nofit *assign.NoFit
		switch {
		case err == nil:
			for _, node := range made.Nodes {
				over.Hosts = append(over.Hosts, node.Host)
			}
		case errors.As(err, &nofit), errors.Is(err, claim.ErrContested):
			over.Lost++
			time.Sleep(rand.N(time.Second)) // as the reconciler does, if much shorter
		default:
			return err
		}
	}
	object.Data[keyRelease] = "now"
	if err := admin.Update(ctx, object); err != nil {
		return err
	}
	over.Version = version(object.ResourceVersion)
	return json.NewEncoder(os.Stdout).Encode(over)
}

// counting counts the writes that fail because others were faster. Those of one claim come one after the other, but for those that give back.
func counting(c client.WithWatch, late *int) client.WithWatch {
	var mu sync.Mutex
	return interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			err := c.Patch(ctx, object, patch, options...)
			if apierrors.IsConflict(err) {
				mu.Lock()
				defer mu.Unlock()
				*late++
			}
			return err
		},
	})
}

// reconcile is a controller's part: its own cache of hosts, a plan for each round, the release of those that are over.
func (p player) reconcile(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return err
	}
	seen, err := hostcache.New(ctx, config)
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	wake := func(string, string, ...string) {
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
	admin, err := arenaClient(p.Kubeconfig, "")
	if err != nil {
		return err
	}
	planned := map[string]bool{}
	tick := time.NewTicker(200 * time.Millisecond) // at most so often, and at least: rounds are not watched
	defer tick.Stop()
	for {
		<-tick.C
		if err := p.look(ctx, admin, seen, planned); err != nil {
			return err
		}
		select {
		case <-changed:
		default:
		}
	}
}

// look plans each round once, before its claimant gets far, as the controller plans before it starts a run.
func (p player) look(ctx context.Context, admin client.Client, seen *hostcache.Cache, planned map[string]bool) error {
	var rounds corev1.ConfigMapList
	if err := admin.List(ctx, &rounds, client.InNamespace(arena), client.MatchingLabels{labelRound: "round"}); err != nil {
		return err
	}
	all, err := seen.All(ctx, arena)
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
		if n := len(request.Slots); n%4 != 0 && n%replicas != p.Number { // every fourth is released by both at once, as when the lease changes hands
			continue
		}
		if _, err := seen.Release(ctx, hosts.OwnerOf(request)); err != nil {
			return err
		}
		// It stays, so that a claimant that was killed when it was over does not play it again.
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"over"}}}`, labelRound)
		if err := admin.Patch(ctx, round, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			return err
		}
	}
	return nil
}

// arenaClient acts as an account of the arena, or as the administrator. It makes no haste slower.
func arenaClient(kubeconfig, account string) (client.WithWatch, error) {
	config, scheme, err := arenaConfig(kubeconfig, account)
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

func arenaConfig(kubeconfig, account string) (*rest.Config, *runtime.Scheme, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	config.QPS, config.DisableCompression = -1, true
	if account != "" {
		config.Impersonate.UserName = "system:serviceaccount:" + arena + ":" + account
		config.Impersonate.Groups = []string{"system:authenticated", "system:serviceaccounts:" + arena}
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metal3.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, nil, err
		}
	}
	return config, scheme, nil
}

// meddle writes what does not matter to a claim, as Metal3 and people do, until ctx ends.
func meddle(ctx context.Context, admin client.Client) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		host := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("host-%03d", rand.N(arenaHosts)), Namespace: arena}}
		var err error
		if n%2 == 0 {
			err = admin.Patch(ctx, host, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"%d"}}}`, n)))
		} else {
			err = admin.Status().Patch(ctx, host, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{"errorCount":%d}}`, n)))
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("meddle: %w", err)
		}
	}
}

// compete takes free hosts for somebody else, as Cluster API does, and gives them back, until ctx ends. Nobody may take one from it.
func compete(ctx context.Context, admin client.Client) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		key := client.ObjectKey{Namespace: arena, Name: fmt.Sprintf("host-%03d", rand.N(arenaHosts))}
		host := &metal3.BareMetalHost{}
		if err := admin.Get(ctx, key, host); err != nil {
			return endOf(ctx, err)
		}
		if host.Spec.ConsumerRef == nil {
			host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "Metal3Machine", Name: "machine-1", Namespace: arena}
			// To its end, come what may: after a broken call nobody would know whether the host is to be given back.
			if err := admin.Update(context.WithoutCancel(ctx), host); err != nil && !apierrors.IsConflict(err) {
				return endOf(ctx, err)
			} else if err == nil {
				<-tick.C
				if err := giveBack(context.WithoutCancel(ctx), admin, key); err != nil {
					return err
				}
			}
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

func endOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("compete: %w", err)
}

func giveBack(ctx context.Context, admin client.Client, key client.ObjectKey) error {
	for {
		host := &metal3.BareMetalHost{}
		if err := admin.Get(ctx, key, host); err != nil {
			return err
		}
		if host.Spec.ConsumerRef == nil || host.Spec.ConsumerRef.Name != "machine-1" {
			return fmt.Errorf("%s was taken from machine-1", key.Name)
		}
		host.Spec.ConsumerRef = nil
		if err := admin.Update(ctx, host); !apierrors.IsConflict(err) {
			return err
		}
	}
}
