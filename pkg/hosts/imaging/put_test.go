package imaging

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func bare(change ...func(*metal3.BareMetalHost)) *metal3.BareMetalHost {
	h := &metal3.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Name: "host-1", Namespace: "site", Annotations: map[string]string{"theirs": "stays"}},
		Status:     metal3.BareMetalHostStatus{Provisioning: metal3.ProvisionStatus{State: metal3.StateAvailable}},
	}
	for _, f := range change {
		f(h)
	}
	return h
}

var jammy = contract.OSImage{
	URL: "http://depot/jammy.qcow2", Checksum: "abc", ChecksumType: "sha256", Format: "qcow2", UserData: "$(node)-user", MetaData: "meta-$(host)",
}

func TestPut(t *testing.T) {
	network := func(h *metal3.BareMetalHost) { h.Spec.NetworkData = &corev1.SecretReference{Name: "own"} }
	user := func(h *metal3.BareMetalHost) { h.Spec.UserData = &corev1.SecretReference{Name: "old"} }
	for name, host := range map[string]*metal3.BareMetalHost{
		"plain": bare(), "with data of its own": bare(network, user), "switched on": bare(func(h *metal3.BareMetalHost) { h.Spec.Online = true }),
		"without annotations": bare(func(h *metal3.BareMetalHost) { h.Annotations = nil }),
	} {
		t.Run(name, func(t *testing.T) {
			was := host.DeepCopy()
			Put(host, jammy, "worker-1")
			format := "qcow2"
			want := metal3.BareMetalHostSpec{
				Online:      true,
				Image:       &metal3.Image{URL: jammy.URL, Checksum: "abc", ChecksumType: "sha256", DiskFormat: &format},
				UserData:    &corev1.SecretReference{Name: "worker-1-user", Namespace: "site"},
				MetaData:    &corev1.SecretReference{Name: "meta-host-1", Namespace: "site"},
				NetworkData: was.Spec.NetworkData, // not changed, because the image names no network data
			}
			if diff := cmp.Diff(want, host.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if !Ours(host) || host.Annotations[contract.AnnotationOSImage] != jammy.URL {
				t.Errorf("annotations %v do not say that the image is ours", host.Annotations)
			}
			again := host.DeepCopy()
			Put(again, contract.OSImage{URL: "http://depot/other"}, "worker-2")
			if diff := cmp.Diff(host, again); diff != "" {
				t.Errorf("a second Put changes the host, which would erase it (-first +second):\n%s", diff)
			}
			TakeAway(host)
			if host.Annotations != nil && was.Annotations == nil {
				was.Annotations = map[string]string{}
			}
			if diff := cmp.Diff(was, host); diff != "" {
				t.Errorf("after TakeAway (-before +after):\n%s", diff)
			}
		})
	}
}

func TestTakeAwayLeavesWhatIsNotOurs(t *testing.T) {
	for name, host := range map[string]*metal3.BareMetalHost{
		"an image of another client": bare(func(h *metal3.BareMetalHost) { h.Spec.Image = &metal3.Image{URL: "http://theirs"} }),
		"a custom deployment":        bare(func(h *metal3.BareMetalHost) { h.Spec.CustomDeploy = &metal3.CustomDeploy{Method: "theirs"} }),
	} {
		want := host.DeepCopy()
		Put(host, jammy, "worker-1")
		TakeAway(host)
		if diff := cmp.Diff(want, host); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}

// The image overwrites an earlier cluster, so Put removes its mark. A host that Put does not change
// keeps its mark.
func TestPutRemovesTheMarkOfAnEarlierCluster(t *testing.T) {
	used := func(h *metal3.BareMetalHost) { h.Annotations[contract.AnnotationUsedBy] = "site/edge-1 u1" }
	host, theirs := bare(used), bare(used, func(h *metal3.BareMetalHost) { h.Spec.Image = &metal3.Image{URL: "http://theirs"} })
	Put(host, jammy, "worker-1")
	Put(theirs, jammy, "worker-1")
	if _, marked := host.Annotations[contract.AnnotationUsedBy]; marked || theirs.Annotations[contract.AnnotationUsedBy] == "" {
		t.Errorf("annotations after Put: %v; of a host with an image of its own: %v", host.Annotations, theirs.Annotations)
	}
}

// TestTakeAwayLeavesAnotherImage: a user has set another image after BPA. BPA must not remove it,
// because Metal3 would erase the host.
func TestTakeAwayLeavesAnotherImage(t *testing.T) {
	host := bare()
	Put(host, jammy, "worker-1")
	host.Spec.Image = &metal3.Image{URL: "http://theirs"}
	want := host.Spec.DeepCopy()
	TakeAway(host)
	if diff := cmp.Diff(*want, host.Spec); diff != "" || Ours(host) {
		t.Errorf("Ours = %t; spec (-before +after):\n%s", Ours(host), diff)
	}
}

func TestTakeAwayWithoutMemory(t *testing.T) {
	host := bare()
	Put(host, jammy, "worker-1")
	host.Annotations[contract.AnnotationOSImageBefore] = "{" // a user edited it
	TakeAway(host)
	if host.Spec.Image != nil || host.Spec.UserData == nil || Ours(host) {
		t.Errorf("want the image gone and the references left: %+v", host.Spec)
	}
}

func TestSecrets(t *testing.T) {
	got := Secrets(contract.OSImage{UserData: "user", NetworkData: "$(host)-$(node)-net"}, "host-1", "worker-1")
	if diff := cmp.Diff([]string{"user", "host-1-worker-1-net"}, got); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
}
