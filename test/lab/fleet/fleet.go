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

// Fleet is the machines whose BareMetalHosts are in one namespace.
type Fleet struct {
	Client     client.WithWatch
	Namespace  string
	Image      string // of a machine
	Nameserver string // what machines have in resolv.conf
	Log        io.Writer

	readMAC func(ctx context.Context, ip string, signer ssh.Signer) (string, error) // nil: by SSH
}

// NewClient is a client that knows Kubernetes' and Metal3's kinds.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), metal3.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// Up makes the machines that are not there and describes all of them.
func (f *Fleet) Up(ctx context.Context, shapes ...Shape) error {
	for _, ns := range []*corev1.Namespace{makePodNamespace(), makeNamespace(f.Namespace)} {
		if err := f.create(ctx, ns); err != nil {
			return err
		}
	}
	signer, err := f.ensureKey(ctx)
	if err != nil {
		return err
	}
	return f.each(ctx, shapes, func(ctx context.Context, s Shape) error { return f.makeMachine(ctx, s, signer) })
}

// Down removes the machines with these names, or all of them and the key if none is named.
func (f *Fleet) Down(ctx context.Context, names ...string) error {
	all := len(names) == 0
	if all {
		var err error
		if names, err = f.Names(ctx); err != nil {
			return err
		}
	}
	err := f.each(ctx, named(names), func(ctx context.Context, s Shape) error { return f.removeMachine(ctx, s.Name) })
	if err != nil || !all {
		return err
	}
	return f.removeKey(ctx)
}

// Reset gives every machine a blank disk, a new address and a new identity, as if Metal3 had provisioned it again.
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
	pod := makePod(f.Namespace, s.Name, f.Image, f.Nameserver)
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
	if err := f.describe(ctx, s, mac, ip); err != nil {
		return err
	}
	fmt.Fprintf(f.Log, "  %-10s %-15s %s  %2d CPUs %3d GiB%s  %.1fs\n", s.Name, ip, mac, s.CPU, s.RAMGiB, broken(s), time.Since(start).Seconds())
	return nil
}

// describe writes the BareMetalHost, its status and its HardwareData.
func (f *Fleet) describe(ctx context.Context, s Shape, mac, ip string) error {
	host := makeHost(f.Namespace, s, mac)
	if err := f.create(ctx, host); err != nil {
		return err
	}
	hardware := makeHardware(s, mac, ip)
	// A whole update, not a patch: fields that the schema requires may be empty. The claim is in the same object.
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := f.Client.Get(ctx, client.ObjectKeyFromObject(host), host); err != nil {
			return err
		}
		host.Status = makeStatus(s, hardware)
		return f.Client.Status().Update(ctx, host)
	})
	if err != nil {
		return fmt.Errorf("describe host %s: %w", s.Name, err)
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

// create makes an object unless it is there.
func (f *Fleet) create(ctx context.Context, o client.Object) error {
	if err := f.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
	}
	return nil
}

// replace makes an object exactly what is given; nobody else writes these.
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
