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
	contestNamespace = "contest" // namespace of this file's hosts
	contestHosts     = 500
	contestRacks     = 10
	claimants        = 20
	replicas         = 2
	// goal is the number of hosts that must be claimed in completed claims. The environment
	// variable BPA_CONTEST_HOSTS overrides it; its value in the full contest is 10000.
	goal = 800
	// slowest is the number of hosts that the slowest machine claims per second. The time limit of
	// the contest is computed from it.
	slowest = 2
)

// TestContest runs 20 claimants, each a process, that compete for 500 hosts until the goal is
// reached. Meanwhile two controller replicas plan and release, one client changes hosts as Metal3
// and users do, and a second client claims hosts for a holder that is not a Provisioning. Claimants
// and replicas are killed at random times and restarted.
//
// An audit of every change of every host checks that no host changes from one holder to another
// without a release in between, that each claimant really holds the hosts that it reports, and that
// no host is held at the end.
func TestContest(t *testing.T) {
	admin, err := accountClient(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	prepareContest(t, admin)
	wanted := wantedHosts(t)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute+time.Duration(wanted)*time.Second/slowest)
	defer stop()
	audit := startAudit(t, ctx, admin)
	noise, quiet := context.WithCancel(ctx)
	defer quiet()
	var background errgroup.Group
	background.Go(func() error { return writeNoise(noise, admin) })
	background.Go(func() error { return compete(noise, admin) })

	begun := time.Now()
	all := startParticipants(t, ctx)
	all.runUntil(t, wanted)
	took := time.Since(begun)
	all.stopClaimants(t)
	quiet()
	if err := background.Wait(); err != nil {
		t.Error(err)
	}
	releaseRest(t, ctx, admin)
	all.stopReplicas(t)

	report := audit.close(t, ctx, admin)
	for _, c := range all.claims() {
		report.check(t, c)
	}
	t.Logf("%d claims of %d hosts completed in %s: %.1f hosts a second (%.1f taken, completed or not); %d writes had conflicts, %d attempts to claim failed because of other holders; %d hosts taken and %d released, of which %d by the other holder; %d kills",
		len(all.claims()), all.hosts(), took.Round(time.Second), float64(all.hosts())/took.Seconds(), float64(report.taken-report.foreign)/took.Seconds(),
		all.conflicts(), all.lost(), report.taken, report.released, report.foreign, all.kills)
	if all.conflicts() == 0 || all.kills == 0 {
		t.Error("there were no conflicts, or no kills: the test does not prove anything")
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

// prepareContest creates the hosts, in racks, and gives the claimants the permissions of the task
// select-hosts.
func prepareContest(t *testing.T, admin client.Client) {
	t.Helper()
	for _, args := range [][]string{
		{"apply", "--server-side", "-f", metal3Kinds},
		{"wait", "--for=condition=Established", "--timeout=30s", "crd/baremetalhosts.metal3.io", "crd/hardwaredata.metal3.io"},
		{"apply", "-f", "../../config/200-task-select-hosts.yaml"},
		{"apply", "-f", "../../config/500-claims.yaml"},
		{"create", "namespace", contestNamespace},
	} {
		must(t, "", args...)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context()) // other tests delete the CRDs, which takes long with so many objects
		for _, kind := range []client.Object{&metal3.BareMetalHost{}, &metal3.HardwareData{}} {
			if err := admin.DeleteAllOf(ctx, kind, client.InNamespace(contestNamespace)); err != nil {
				t.Error(err)
			}
		}
	})
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "select-hosts", Namespace: contestNamespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "bpa-select-hosts"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:" + contestNamespace}},
	}
	if err := admin.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	var all errgroup.Group
	all.SetLimit(8)
	for n := range contestHosts {
		all.Go(func() error { return makeHost(t.Context(), admin, n) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// makeHost creates a host with its hardware data, as Metal3 does.
func makeHost(ctx context.Context, admin client.Client, n int) error {
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("host-%03d", n), Namespace: contestNamespace, Labels: map[string]string{"rack": rack(n % contestRacks)}}
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

func rack(n int) string { return fmt.Sprintf("r%d", n%contestRacks) }

// makeRequest returns the request of a claimant in a round: 5 to 25 nodes in one to three racks. A
// claimant that is restarted gets the same request again.
func makeRequest(claimant, round int) contract.Request {
	r := rand.New(rand.NewPCG(uint64(claimant), uint64(round)))
	first, racks := r.IntN(contestRacks), []string{}
	for n := range 1 + r.IntN(3) {
		racks = append(racks, rack(first+n))
	}
	slices.Sort(racks)
	name := fmt.Sprintf("edge-%d-%d", claimant, round)
	request := contract.Request{Spec: contract.Spec{Provisioning: name, Namespace: contestNamespace, UID: name}}
	for n := range 5 + r.IntN(21) {
		request.Slots = append(request.Slots, contract.Slot{
			Name: fmt.Sprintf("n%d", n), Roles: []string{contract.RoleWorker},
			Needs: contract.Needs{CPU: 8 << r.IntN(2), Labels: []contract.LabelTerm{{Key: "rack", Operator: "In", Values: racks}}},
		})
	}
	return request
}

// Each round has a ConfigMap that represents a Provisioning. The ConfigMap contains the request.
const (
	keyRelease = "release" // data key that is set when the hosts must be released, as after a deletion
	labelRound = "contest" // "round", or "over" after the release of the hosts
)

func roundOf(request contract.Request) *corev1.ConfigMap {
	text, _ := json.Marshal(request) // never fails for these field types
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: request.Provisioning, Namespace: contestNamespace, Labels: map[string]string{labelRound: "round"}},
		Data:       map[string]string{contract.KeyRequest: string(text)},
	}
}

// releaseRest marks the rounds that claimants have not finished, because they were stopped. It
// returns when the replicas have released all hosts.
func releaseRest(t *testing.T, ctx context.Context, admin client.Client) {
	t.Helper()
	retry := time.NewTicker(500 * time.Millisecond)
	defer retry.Stop()
	for {
		var rounds corev1.ConfigMapList
		if err := admin.List(ctx, &rounds, client.InNamespace(contestNamespace), client.MatchingLabels{labelRound: "round"}); err != nil {
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
			t.Fatalf("timeout: the replicas have not released the hosts of %d rounds, such as %s", len(rounds.Items), rounds.Items[0].Name)
		}
	}
}
