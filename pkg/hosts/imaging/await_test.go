package imaging

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// claimed returns a host without an operating system that edge-1 holds and for which the image is
// set.
func claimed(name string, change ...func(*metal3.BareMetalHost)) *metal3.BareMetalHost {
	h := bare()
	h.Name, h.Labels = name, map[string]string{contract.LabelCluster: "edge-1"}
	h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "bpa.akraino.org/v1alpha1", Kind: "Provisioning", Name: "edge-1"}
	Put(h, jammy, name)
	for _, f := range change {
		f(h)
	}
	return h
}

func provisioned(h *metal3.BareMetalHost) {
	h.Status.Provisioning.State, h.Status.Provisioning.Image = metal3.StateProvisioned, *h.Spec.Image
}

// unimaged removes the image, as if the controller had not set it yet.
func unimaged(h *metal3.BareMetalHost) { TakeAway(h) }

func external(h *metal3.BareMetalHost) {
	h.Status.Provisioning.State = metal3.StateExternallyProvisioned
}

func provisioning(h *metal3.BareMetalHost) { h.Status.Provisioning.State = metal3.StateProvisioning }

func failing(kind metal3.ErrorType, count int) func(*metal3.BareMetalHost) {
	return func(h *metal3.BareMetalHost) {
		h.Status.ErrorType, h.Status.ErrorMessage, h.Status.ErrorCount = kind, "no\nluck", count
	}
}

func saying(message string) func(*metal3.BareMetalHost) {
	return func(h *metal3.BareMetalHost) {
		failing(metal3.ProvisioningError, 1)(h)
		h.Status.ErrorMessage = message
	}
}

// recovering removes Metal3's error, as Metal3 does when it cleans the host for the next try.
func recovering(h *metal3.BareMetalHost) {
	h.Status.ErrorType, h.Status.ErrorMessage, h.Status.ErrorCount = "", "", 0
}

// repeated returns steps in which a host fails several times, and Metal3 tries again after each
// failure except the last.
func repeated(host string, times int, fail func(*metal3.BareMetalHost)) (steps []step) {
	for n := range times {
		if n > 0 {
			steps = append(steps, step{time.Minute, host, recovering})
		}
		steps = append(steps, step{time.Minute, host, fail})
	}
	return steps
}

func site(meddle interceptor.Funcs, all ...client.Object) client.WithWatch {
	scheme := runtime.NewScheme()
	if err := metal3.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithInterceptorFuncs(meddle).Build()
}

var (
	request = contract.Request{Spec: contract.Spec{Provisioning: "edge-1", Namespace: "site"}}
	nodes   = []contract.Node{{Name: "node-1", Host: "host-1"}, {Name: "node-2", Host: "host-2"}}
)

// step is a change of a host after some time. If edit is nil, the host is deleted.
type step struct {
	after time.Duration
	host  string
	edit  func(*metal3.BareMetalHost)
}

func play(t *testing.T, c client.Client, steps []step) {
	ctx := context.Background()
	for _, s := range steps {
		time.Sleep(s.after) // synctest advances its clock instead of waiting
		h := &metal3.BareMetalHost{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: "site", Name: s.host}, h); err != nil {
			t.Error(err)
			return
		}
		err := error(nil)
		if s.edit == nil {
			err = c.Delete(ctx, h)
		} else {
			s.edit(h)
			err = c.Update(ctx, h)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func TestAwait(t *testing.T) {
	for _, tc := range []struct {
		name  string
		hosts []client.Object
		steps []step
		want  string // part of the error; empty: no error
		log   string // a line of it
	}{
		{"all have one already", []client.Object{claimed("host-1", provisioned), claimed("host-2", unimaged, external)}, nil, "", ""},
		{"one is given its image late", []client.Object{claimed("host-1", provisioned), claimed("host-2", unimaged)}, []step{
			{time.Minute, "host-2", func(h *metal3.BareMetalHost) { Put(h, jammy, "node-2") }}, {time.Minute, "host-2", provisioned},
		}, "", "host-2: available 30s\n"},
		{"a namesake of another namespace holds one", []client.Object{claimed("host-1", provisioned), claimed("host-2", provisioned, func(h *metal3.BareMetalHost) {
			h.Spec.ConsumerRef.Namespace = "tenant-b"
		})}, nil, "host-2, claimed for node-2, was deleted or is no longer held by the Provisioning", ""},
		{"one is never given an image", []client.Object{claimed("host-1", provisioned), claimed("host-2", unimaged)}, nil, "host-2 is available", ""},
		{"its BMC breaks before that", []client.Object{claimed("host-1", provisioned), claimed("host-2", unimaged)}, []step{{time.Minute, "host-2", failing(metal3.PowerManagementError, 3)}},
			"power management error: no luck", ""},
		{"both in turn", []client.Object{claimed("host-1"), claimed("host-2")}, []step{
			{time.Minute, "host-1", provisioning}, {2*time.Minute + 10*time.Second, "host-2", provisioned}, {time.Minute, "host-1", provisioned},
		}, "", "host-1: provisioning 2m0s\n"},
		{"the old image does not count", []client.Object{claimed("host-1", func(h *metal3.BareMetalHost) {
			h.Status.Provisioning.State, h.Status.Provisioning.Image.URL = metal3.StateProvisioned, "http://old"
		}), claimed("host-2", provisioned)}, []step{{time.Minute, "host-1", provisioned}}, "", "host-1: provisioned 30s\n"},
		{"Metal3 fails three times", []client.Object{claimed("host-1"), claimed("host-2")}, repeated("host-2", 3, failing(metal3.ProvisioningError, 1)),
			"host host-2, claimed for node-2, does not get its operating system: provisioning error: no luck", ""},
		{"Metal3 succeeds after two failures", []client.Object{claimed("host-1", provisioned), claimed("host-2")},
			append(repeated("host-2", 2, failing(metal3.ProvisioningError, 1)), step{time.Minute, "host-2", func(h *metal3.BareMetalHost) { recovering(h); provisioned(h) }}),
			"", "host-2: installation failed (2): no luck\n"},
		{"it cannot clean the host", []client.Object{claimed("host-1", provisioned), claimed("host-2")}, []step{{time.Minute, "host-2", failing(metal3.ProvisioningError, 3)}},
			"provisioning error: no luck", ""},
		{"the image is wrong only for one host", []client.Object{claimed("host-1", provisioned), claimed("host-2")},
			append(repeated("host-2", 2, saying("Got HTTP code 404")), step{time.Minute, "host-2", func(h *metal3.BareMetalHost) { recovering(h); provisioned(h) }}), "", ""},
		{"Ironic does not trust the depot", []client.Object{claimed("host-1"), claimed("host-2")}, repeated("host-2", 2, saying("[SSL: CERTIFICATE_VERIFY_FAILED] unable to get local issuer certificate")),
			"or set spec.depot.imageURL to the depot's HTTP endpoint: provisioning error: [SSL: CERTIFICATE_VERIFY_FAILED]", ""},
		{"no such image", []client.Object{claimed("host-1"), claimed("host-2")}, repeated("host-2", 2, saying("Got HTTP code 404 instead of 200")),
			"the image does not exist: upload it, or correct spec.osImage: provisioning error: Got", ""},
		{"another image", []client.Object{claimed("host-1"), claimed("host-2")}, repeated("host-2", 2, saying("Image failed to verify against checksum. location: a")),
			"or upload the image again: provisioning error: Image failed", ""},
		{"a name that Ironic cannot find", []client.Object{claimed("host-1"), claimed("host-2")}, repeated("host-2", 2, saying("Checksum file does not contain name a+b")),
			"upload the image under another name", ""},
		{"short errors of the BMC", []client.Object{claimed("host-1", provisioned), claimed("host-2")}, []step{
			{time.Minute, "host-2", failing(metal3.PowerManagementError, 2)}, {time.Minute, "host-2", func(h *metal3.BareMetalHost) { failing("", 0)(h); h.Status.ErrorMessage = ""; provisioned(h) }},
		}, "", ""},
		{"a BMC that is broken", []client.Object{claimed("host-1", provisioned), claimed("host-2")}, []step{{time.Minute, "host-2", failing(metal3.PowerManagementError, 3)}},
			"power management error: no luck", ""},
		{"deleted", []client.Object{claimed("host-1"), claimed("host-2")}, []step{{time.Minute, "host-2", nil}}, "host host-2, claimed for node-2, was deleted or is no longer held by the Provisioning", ""},
		{"missing from the start", []client.Object{claimed("host-1")}, nil, "host host-2, claimed for node-2, was deleted or is no longer held by the Provisioning", ""},
		{"taken by another Provisioning", []client.Object{claimed("host-1"), claimed("host-2")}, []step{{time.Minute, "host-2", func(h *metal3.BareMetalHost) { h.Spec.ConsumerRef.Name = "other" }}},
			"was deleted or is no longer held by the Provisioning", ""},
		{"taken by another kind of that name", []client.Object{claimed("host-1"), claimed("host-2")}, []step{{time.Minute, "host-2", func(h *metal3.BareMetalHost) {
			h.Spec.ConsumerRef.APIVersion, h.Spec.ConsumerRef.Kind = "infrastructure.cluster.x-k8s.io/v1beta1", "Metal3Machine"
		}}},
			"was deleted or is no longer held by the Provisioning", ""},
		{"the image is taken out", []client.Object{claimed("host-1"), claimed("host-2")}, []step{{time.Minute, "host-2", func(h *metal3.BareMetalHost) { h.Spec.Image = nil }}},
			"no longer has the image that BPA set in its spec.image", ""},
		{"never", []client.Object{claimed("host-1", provisioning), claimed("host-2", provisioned)}, nil, "host-1 is provisioning", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, log := site(interceptor.Funcs{}, tc.hosts...), &bytes.Buffer{}
				go play(t, c, tc.steps)
				err := NewWaiter(c, request, log).Await(t.Context(), nodes)
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("Await: %v; want %q", err, tc.want)
				}
				if !strings.Contains(log.String(), tc.log) {
					t.Errorf("the log has no %q:\n%s", tc.log, log)
				}
				synctest.Wait()
			})
		})
	}
}

// TestAwaitGoesOn checks that Await continues after errors of the API server and after the end of a
// watch.
func TestAwaitGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		c := site(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if lists++; lists%2 == 0 {
					return errors.New("connection refused")
				}
				return c.List(ctx, list, opts...)
			},
		}, claimed("host-1"), claimed("host-2", provisioned))
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		broken := interceptor.NewClient(c, interceptor.Funcs{
			Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
				w, err := c.Watch(ctx, list, opts...)
				if err == nil {
					time.AfterFunc(10*time.Second, w.Stop)
				}
				return w, err
			},
		})
		go play(t, c, []step{{45 * time.Second, "host-1", provisioned}})
		if err := NewWaiter(broken, request, &bytes.Buffer{}).Await(ctx, nodes); err != nil {
			t.Error(err)
		}
	})
}

// TestKinds checks which failures let the task choose another host.
func TestKinds(t *testing.T) {
	hosts := func(changes ...func(*metal3.BareMetalHost)) []client.Object {
		var all []client.Object
		for n, change := range changes {
			all = append(all, claimed([]string{"host-1", "host-2"}[n], change))
		}
		return all
	}
	missing := saying("Got HTTP code 404")
	for _, tc := range []struct {
		name  string
		hosts []client.Object
		steps []step
		want  Kind
	}{
		{"an error of the host", hosts(provisioning, provisioned), repeated("host-1", 3, failing(metal3.ProvisioningError, 1)), BadHost},
		{"an error of its BMC", hosts(provisioning, provisioning), []step{{time.Minute, "host-1", failing(metal3.PowerManagementError, 3)}}, BadHost},
		{"the image is missing", hosts(provisioning, provisioning), repeated("host-1", 2, missing), BadImage},
		{"another host has received the image", hosts(provisioning, provisioned), repeated("host-1", 3, missing), BadHost},
		{"deleted", hosts(provisioning, provisioned), []step{{time.Minute, "host-1", nil}}, Gone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := site(interceptor.Funcs{}, tc.hosts...)
				go play(t, c, tc.steps)
				var failed *Failed
				if err := NewWaiter(c, request, &bytes.Buffer{}).Await(t.Context(), nodes); !errors.As(err, &failed) || failed.Kind != tc.want || failed.Host != "host-1" {
					t.Errorf("Await: %v; want host-1 with kind %d", err, tc.want)
				}
				synctest.Wait()
			})
		})
	}
}

// TestSecondFailureWithoutSuccess: if a second host fails before any host has received the image,
// no further host is given up, so that a fault of the site does not use up all its hosts.
func TestSecondFailureWithoutSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := site(interceptor.Funcs{}, claimed("host-1"), claimed("host-2"))
		w := NewWaiter(c, request, &bytes.Buffer{})
		var failed *Failed
		go play(t, c, repeated("host-1", 3, failing(metal3.ProvisioningError, 1)))
		if err := w.Await(t.Context(), nodes); !errors.As(err, &failed) || failed.Kind != BadHost {
			t.Fatalf("the first host: %v; want BadHost", err)
		}
		go play(t, c, repeated("host-2", 3, failing(metal3.ProvisioningError, 1)))
		if err := w.Await(t.Context(), nodes[1:]); !errors.As(err, &failed) || failed.Kind != BadImage {
			t.Errorf("the second host: %v; want BadImage", err)
		}
		synctest.Wait()
	})
}
