package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Fleet manages the machines whose BareMetalHosts are in one namespace.
type Fleet struct {
	Client     client.WithWatch
	Namespace  string
	Image      string    // image of a machine
	Nameserver string    // nameserver in the resolv.conf of machines
	Reboots    bool      // machines can reboot, with another boot ID; otherwise systemctl reboot ends the container
	Log        io.Writer // receives one line per machine created

	readMAC func(ctx context.Context, ip string, signer ssh.Signer) (string, error) // nil means by SSH
}

// NewClient returns a client for the kinds of Kubernetes and Metal3.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), metal3.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// Up creates a machine for each shape that has none, and writes the BareMetalHost and HardwareData
// of each shape.
func (f *Fleet) Up(ctx context.Context, shapes ...Shape) error {
	signer, err := f.Prepare(ctx)
	if err != nil {
		return err
	}
	return f.each(ctx, shapes, func(ctx context.Context, s Shape) error { return f.makeMachine(ctx, s, signer) })
}

// Prepare creates the namespaces and the SSH key of the machines, unless they exist.
func (f *Fleet) Prepare(ctx context.Context) (ssh.Signer, error) {
	for _, ns := range []*corev1.Namespace{makePodNamespace(), makeNamespace(f.Namespace)} {
		if err := f.create(ctx, ns); err != nil {
			return nil, err
		}
	}
	return f.ensureKey(ctx)
}

// Down removes the machines with these names. Without names, it removes all machines and the SSH
// key.
func (f *Fleet) Down(ctx context.Context, names ...string) error {
	all := len(names) == 0
	if all {
		var err error
		if names, err = f.Names(ctx); err != nil {
			return err
		}
	}
	err := f.each(ctx, shapesByName(names), func(ctx context.Context, s Shape) error { return f.removeMachine(ctx, s.Name) })
	if err != nil || !all {
		return err
	}
	return f.removeKey(ctx)
}

// Reset recreates the machines with these names, or all machines if there are no names. Each
// receives a blank disk, a new address and a new identity, as if Metal3 had provisioned it again.
func (f *Fleet) Reset(ctx context.Context, names ...string) error {
	shapes, err := f.shapes(ctx, names)
	if err != nil {
		return err
	}
	signer, err := f.ensureKey(ctx)
	if err != nil {
		return err
	}
	return f.each(ctx, shapes, func(ctx context.Context, s Shape) error {
		if err := f.removeMachine(ctx, s.Name); err != nil {
			return err
		}
		return f.makeMachine(ctx, s, signer)
	})
}

func (f *Fleet) makeMachine(ctx context.Context, s Shape, signer ssh.Signer) error {
	start := time.Now()
	pod := makePod(f, s.Name)
	if err := f.create(ctx, pod); err != nil {
		return err
	}
	ip, err := f.waitReady(ctx, pod.Name)
	if err != nil {
		return err
	}
	read := f.readMAC
	if read == nil {
		read = readMAC
	}
	mac, err := read(ctx, ip, signer)
	if err != nil {
		return fmt.Errorf("machine %s: %w", s.Name, err)
	}
	if err := f.Register(ctx, s, mac, ip); err != nil {
		return err
	}
	fmt.Fprintf(f.Log, "  %-10s %-15s %s  %2d CPUs %3d GiB%s  %.1fs\n", s.Name, ip, mac, s.CPU, s.RAMGiB, broken(s), time.Since(start).Seconds())
	return nil
}

// Register writes the BareMetalHost of a machine, its status and its HardwareData.
func (f *Fleet) Register(ctx context.Context, s Shape, mac, ip string) error {
	host := makeHost(f.Namespace, s, mac)
	if err := f.create(ctx, host); err != nil {
		return err
	}
	hardware := makeHardware(s, mac, ip)
	// An update is used and not a patch, because a patch omits empty fields that the schema
	// requires. It is retried, because claims change the same object.
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := f.Client.Get(ctx, client.ObjectKeyFromObject(host), host); err != nil {
			return err
		}
		host.Status = makeStatus(s, hardware)
		return f.Client.Status().Update(ctx, host)
	})
	if err != nil {
		return fmt.Errorf("write status of host %s: %w", s.Name, err)
	}
	return f.replace(ctx, makeHardwareData(f.Namespace, s.Name, hardware))
}

func broken(s Shape) string {
	if s.Broken {
		return " in error"
	}
	return ""
}

func (f *Fleet) each(ctx context.Context, shapes []Shape, do func(context.Context, Shape) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range shapes {
		g.Go(func() error { return do(ctx, s) })
	}
	return g.Wait()
}

// create creates an object unless it exists.
func (f *Fleet) create(ctx context.Context, o client.Object) error {
	if err := f.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
	}
	return nil
}

// replace creates an object, or replaces the existing one. It needs no retry, because only this
// package writes such objects.
func (f *Fleet) replace(ctx context.Context, o client.Object) error {
	err := f.Client.Create(ctx, o)
	if apierrors.IsAlreadyExists(err) {
		old := o.DeepCopyObject().(client.Object)
		if err = f.Client.Get(ctx, client.ObjectKeyFromObject(o), old); err == nil {
			o.SetResourceVersion(old.GetResourceVersion())
			err = f.Client.Update(ctx, o)
		}
	}
	if err != nil {
		return fmt.Errorf("write %T %s: %w", o, o.GetName(), err)
	}
	return nil
}
