package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// lifetime is the default of Client.Lifetime.
const lifetime = 365 * 24 * time.Hour

var (
	// ErrUnhealthy is in errors of a cluster that answers, but does not sign a usable certificate.
	ErrUnhealthy = errors.New("the cluster does not sign client certificates")
	// ErrForeign is in errors about an object that has the name of one of BPA's and another content.
	ErrForeign = errors.New("the object is not BPA's")
)

// failure is an error with a message of its own, which errors.Is finds by its kind.
type failure struct {
	kind    error
	message string
	cause   error
}

func (f *failure) Error() string        { return f.message }
func (f *failure) Is(target error) bool { return target == f.kind }
func (f *failure) Unwrap() error        { return f.cause }

// Client calls the API server of the application cluster of one Provisioning.
type Client struct {
	// Lifetime is the lifetime that certificate requests ask for, at least 10 minutes. A cluster may
	// grant a shorter one.
	Lifetime time.Duration

	kube         kubernetes.Interface
	provisioning string
}

// New returns a client for the cluster of a Provisioning.
func New(kube kubernetes.Interface, provisioning string) *Client {
	return &Client{Lifetime: lifetime, kube: kube, provisioning: provisioning}
}

// Sign lets the cluster sign the request, and verifies the certificate. It takes at most limit.
func (c *Client) Sign(ctx context.Context, request *x509.CertificateRequest, limit time.Duration) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	signed, err := c.certificate(ctx, request)
	if err != nil {
		if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err = &failure{ErrUnhealthy, fmt.Sprintf(
				"the cluster did not sign the certificate request within %s: check that its kube-controller-manager runs (%v)", limit, err), err}
		}
		return nil, err
	}
	roots, err := c.clientCA(ctx)
	if err != nil {
		return nil, err
	}
	certificate, err := access.Check(signed, request, roots)
	if err != nil {
		return nil, &failure{ErrUnhealthy, fmt.Sprintf("the certificate that the cluster signed is not usable: %v", err), err}
	}
	return certificate, nil
}

func (c *Client) certificate(ctx context.Context, request *x509.CertificateRequest) ([]byte, error) {
	csr, err := c.submit(ctx, request)
	if err == nil {
		csr, err = c.approve(ctx, csr.Name)
	}
	if err == nil {
		csr, err = c.await(ctx, csr.Name)
	}
	var known *failure
	if err != nil && !errors.As(err, &known) {
		err = fmt.Errorf("request a certificate from the cluster: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return csr.Status.Certificate, nil
}

// requestName returns the name of the CertificateSigningRequest. It depends only on the request, so
// that a second attempt finds the certificate of the first one.
func (c *Client) requestName(request *x509.CertificateRequest) string {
	digest := sha256.Sum256(request.Raw)
	return "bpa-" + c.provisioning + "-" + hex.EncodeToString(digest[:8])
}

func (c *Client) submit(ctx context.Context, request *x509.CertificateRequest) (*certificates.CertificateSigningRequest, error) {
	seconds := int32(c.Lifetime / time.Second)
	name, requests := c.requestName(request), c.kube.CertificatesV1().CertificateSigningRequests()
	csr := &certificates.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{contract.LabelCluster: c.provisioning}},
		Spec: certificates.CertificateSigningRequestSpec{
			Request:           pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request.Raw}),
			SignerName:        certificates.KubeAPIServerClientSignerName,
			ExpirationSeconds: &seconds,
			Usages:            []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageClientAuth},
		},
	}
	made, err := requests.Create(ctx, csr, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	there, err := requests.Get(ctx, name, metav1.GetOptions{})
	if err == nil && (!bytes.Equal(there.Spec.Request, csr.Spec.Request) || there.Spec.SignerName != csr.Spec.SignerName) {
		err = &failure{ErrForeign, fmt.Sprintf("CertificateSigningRequest %s of the cluster holds another request: delete it there", name), nil}
	}
	return there, err
}

func (c *Client) approve(ctx context.Context, name string) (*certificates.CertificateSigningRequest, error) {
	var csr *certificates.CertificateSigningRequest
	requests := c.kube.CertificatesV1().CertificateSigningRequests()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var err error
		if csr, err = requests.Get(ctx, name, metav1.GetOptions{}); err != nil || decided(csr, certificates.CertificateApproved) {
			return err
		}
		csr.Status.Conditions = append(csr.Status.Conditions, certificates.CertificateSigningRequestCondition{
			Type: certificates.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Provisioned",
			Message: "requested and approved by the Binary Provisioning Agent that installed this cluster",
		})
		csr, err = requests.UpdateApproval(ctx, name, csr, metav1.UpdateOptions{})
		return err
	})
	return csr, err
}

func decided(csr *certificates.CertificateSigningRequest, what certificates.RequestConditionType) bool {
	for _, c := range csr.Status.Conditions {
		if c.Type == what && c.Status != corev1.ConditionFalse {
			return true
		}
	}
	return false
}

// await watches the request until the cluster has signed or rejected it.
func (c *Client) await(ctx context.Context, name string) (*certificates.CertificateSigningRequest, error) {
	requests := c.kube.CertificatesV1().CertificateSigningRequests()
	for {
		csr, err := requests.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if done, err := answered(csr); done {
			return csr, err
		}
		changes, err := requests.Watch(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(), ResourceVersion: csr.ResourceVersion,
		})
		if err != nil {
			return nil, err
		}
		for change := range changes.ResultChan() {
			if csr, ok := change.Object.(*certificates.CertificateSigningRequest); ok {
				if done, err := answered(csr); done {
					changes.Stop()
					return csr, err
				}
			}
		}
		changes.Stop()
		select { // a pause, because the watch may have ended at once
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func answered(csr *certificates.CertificateSigningRequest) (bool, error) {
	for _, c := range csr.Status.Conditions {
		if c.Type == certificates.CertificateDenied || c.Type == certificates.CertificateFailed {
			return true, &failure{ErrUnhealthy, fmt.Sprintf("the cluster rejected the certificate request: %s: %s", c.Reason, c.Message), nil}
		}
	}
	return len(csr.Status.Certificate) > 0, nil
}

// clientCA returns the CA with which the API server verifies client certificates. It can differ
// from the CA of the API server's own certificate.
func (c *Client) clientCA(ctx context.Context) (*x509.CertPool, error) {
	const name, key = "extension-apiserver-authentication", "client-ca-file"
	m, err := c.kube.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the cluster's client CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(m.Data[key])) {
		return nil, &failure{ErrUnhealthy, fmt.Sprintf("the cluster's ConfigMap kube-system/%s has no certificate in %s", name, key), nil}
	}
	return roots, nil
}
