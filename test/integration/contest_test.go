//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
)

const (
	arena      = "contest" // namespace of this file's hosts
	arenaHosts = 500
	arenaRacks = 10
	claimants  = 20
	replicas   = 2
	// goal is how many hosts are claimed, in claims that were completed. BPA_CONTEST_HOSTS can say another number: 10000 for the whole contest.
	goal = 800
	// slowest is how many hosts a second are claimed on the slowest machine.
	slowest = 2
)

// TestContest has 20 claimants, each a process, contest 500 hosts until so many were claimed, while two controller replicas plan and
// release, Metal3 and people write to the hosts, somebody else takes hosts too, and all are killed at random instants and started
// again. Of every change of every host an auditor knows: no host goes from one holder to another without a
// release between, what a claimant believes to hold it holds, and in the end nobody holds anything.
func TestContest(t *testing.T) {
	admin, err := arenaClient(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	prepareArena(t, admin)
	wanted := wantedHosts(t)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute+time.Duration(wanted)*time.Second/slowest)
	defer stop()
	audit := startAudit(t, ctx, admin)
	noise, quiet := context.WithCancel(ctx)
	defer quiet()
	var meddlers errgroup.Group
	meddlers.Go(func() error { return meddle(noise, admin) })
	meddlers.Go(func() error { return compete(noise, admin) })

	begun := time.Now()
	crowd := startCrowd(t, ctx)
	crowd.playUntil(t, wanted)
	took := time.Since(begun)
	crowd.stopClaimants(t)
	quiet()
	if err := meddlers.Wait(); err != nil {
		t.Error(err)
	}
	releaseRest(t, ctx, admin)
	crowd.stopReplicas(t)

	report := audit.close(t, ctx, admin)
	for _, c := range crowd.claims() {
		report.judge(t, c)
	}
	t.Logf("%d claims of %d hosts completed in %s: %.1f hosts a second (%.1f taken, completed or not); %d writes came too late, %d claims were lost to others; %d hosts taken and %d released, of which %d by others; %d kills",
		len(crowd.claims()), crowd.hosts(), took.Round(time.Second), float64(crowd.hosts())/took.Seconds(), float64(report.taken-report.foreign)/took.Seconds(),
		crowd.late(), crowd.lost(), report.taken, report.released, report.foreign, crowd.kills)
	if crowd.late() == 0 || crowd.kills == 0 {
		t.Error("nobody was too late or nobody was killed: this was no contest")
	}
}

func wantedHosts(t *testing.T) int {
	t.Helper()
	text := os.Getenv("BPA_CONTEST_HOSTS")
	if text == "" {
		return goal
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("BPA_CONTEST_HOSTS: %v", err)
	}
	return n
}

// prepareArena makes the hosts, in racks, and gives the claimants the rights of the task select-hosts.
func prepareArena(t *testing.T, admin client.Client) {
	t.Helper()
	for _, args := range [][]string{
		{"apply", "--server-side", "-f", metal3Kinds},
		{"wait", "--for=condition=Established", "--timeout=30s", "crd/baremetalhosts.metal3.io", "crd/hardwaredata.metal3.io"},
		{"apply", "-f", "../../config/200-task-select-hosts.yaml"},
		{"apply", "-f", "../../config/500-claims.yaml"},
		{"create", "namespace", arena},
	} {
		must(t, "", args...)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context()) // others of these tests remove the kinds, which takes long with so many objects
		for _, kind := range []client.Object{&metal3.BareMetalHost{}, &metal3.HardwareData{}} {
			if err := admin.DeleteAllOf(ctx, kind, client.InNamespace(arena)); err != nil {
				t.Error(err)
			}
		}
	})
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "select-hosts", Namespace: arena},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "bpa-select-hosts"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:" + arena}},
	}
	if err := admin.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	var all errgroup.Group
	all.SetLimit(8)
	for n := range arenaHosts {
		all.Go(func() error { return makeHost(t.Context(), admin, n) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// makeHost makes a host with its hardware, as Metal3 would.
func makeHost(ctx context.Context, admin client.Client, n int) error {
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("host-%03d", n), Namespace: arena, Labels: map[string]string{"rack": rack(n % arenaRacks)}}
	mac := fmt.Sprintf("02:00:00:00:%02x:%02x", n>>8, n&255)
	host := &metal3.BareMetalHost{ObjectMeta: meta, Spec: metal3.BareMetalHostSpec{BootMACAddress: mac}}
	if err := admin.Create(ctx, host); err != nil {
		return err
	}
	host.Status.Provisioning.State = metal3.StateExternallyProvisioned
	if err := admin.Status().Update(ctx, host); err != nil {
		return err
	}
	details := &metal3.HardwareDetails{
		CPU: metal3.CPU{Arch: "x86_64", Model: "Intel(R) Xeon(R) Gold 6226R", Count: 8 << (n % 3), Flags: []string{"avx512f", "vmx"}}, RAMMebibytes: 64 << 10,
		NIC: []metal3.NIC{{Name: "eth0", MAC: mac, IP: fmt.Sprintf("10.0.%d.%d", n>>8, n&255), Model: "0x8086 0x1572", SpeedGbps: 10, PXE: true}},
	}
	return admin.Create(ctx, &metal3.HardwareData{ObjectMeta: meta, Spec: metal3.HardwareDataSpec{HardwareDetails: details}})
}

func rack(n int) string { return fmt.Sprintf("r%d", n%arenaRacks) }

// wish is what a claimant asks for in a round: 5 to 25 nodes in one to three racks. It is the same after a restart.
func wish(claimant, round int) contract.Request {
	r := rand.New(rand.NewPCG(uint64(claimant), uint64(round)))
	first, racks := r.IntN(arenaRacks), []string{}
	for n := range 1 + r.IntN(3) {
		racks = append(racks, rack(first+n))
	}
	slices.Sort(racks)
	name := fmt.Sprintf("edge-%d-%d", claimant, round)
	request := contract.Request{Provisioning: name, Namespace: arena, UID: name}
	for n := range 5 + r.IntN(21) {
		request.Slots = append(request.Slots, contract.Slot{
			Name: fmt.Sprintf("n%d", n), Roles: []string{contract.RoleWorker},
			Needs: contract.Needs{CPU: 8 << r.IntN(2), Labels: []contract.LabelTerm{{Key: "rack", Operator: "In", Values: racks}}},
		})
	}
	return request
}

// A round's ConfigMap stands for its Provisioning: it has the request, and says, as a deletion would, when the hosts are to be given back.
const (
	keyRelease = "release"
	labelRound = "contest"
)

func roundOf(request contract.Request) *corev1.ConfigMap {
	text, _ := json.Marshal(request) // cannot fail: plain fields
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: request.Provisioning, Namespace: arena, Labels: map[string]string{labelRound: "round"}},
		Data:       map[string]string{contract.KeyRequest: string(text)},
	}
}

// releaseRest ends the rounds in which a claimant was stopped, and returns once the replicas have released everything.
func releaseRest(t *testing.T, ctx context.Context, admin client.Client) {
	t.Helper()
	retry := time.NewTicker(500 * time.Millisecond)
	defer retry.Stop()
	for {
		var rounds corev1.ConfigMapList
		if err := admin.List(ctx, &rounds, client.InNamespace(arena), client.MatchingLabels{labelRound: "round"}); err != nil {
			t.Fatal(err)
		}
		if len(rounds.Items) == 0 {
			return
		}
		for i := range rounds.Items {
			patch := fmt.Appendf(nil, `{"data":{%q:"now"}}`, keyRelease)
			if err := admin.Patch(ctx, &rounds.Items[i], client.RawPatch("application/merge-patch+json", patch)); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			t.Fatalf("the replicas do not release %d Provisionings, such as %s", len(rounds.Items), rounds.Items[0].Name)
		}
	}
}
