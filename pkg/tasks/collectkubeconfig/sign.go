package collectkubeconfig

import (
	"bytes"
	"context"
	"crypto"
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
	"k8s.io/client-go/util/retry"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// lifetime is the lifetime that the certificate request asks for. A cluster may grant a shorter
// one.
const lifetime = 365 * 24 * time.Hour

// sign lets the cluster sign the request, and verifies the certificate.
func (c *cluster) sign(ctx context.Context, in Input, request *x509.CertificateRequest) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, in.SignLimit)
	defer cancel()
	signed, err := c.certificate(ctx, in, request)
	if err != nil {
		if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err = task.Because(contract.ReasonClusterUnhealthy,
				fmt.Errorf("the new cluster did not sign the certificate request within %s: check that its kube-controller-manager runs (%w)", in.SignLimit, err))
		}
		return nil, err
	}
	roots, err := c.clientCA(ctx)
	if err != nil {
		return nil, err
	}
	return check(signed, request, roots)
}

func (c *cluster) certificate(ctx context.Context, in Input, request *x509.CertificateRequest) ([]byte, error) {
	csr, err := c.submit(ctx, in, request)
	if err == nil {
		csr, err = c.approve(ctx, csr.Name)
	}
	if err == nil {
		csr, err = c.await(ctx, csr.Name)
	}
	var classified *task.Error
	if err != nil && !errors.As(err, &classified) {
		err = task.Because(kube.Reason(err), fmt.Errorf("request a certificate from the new cluster: %w", err))
	}
	if err != nil {
		return nil, err
	}
	return csr.Status.Certificate, nil
}

// requestName returns the name of the CertificateSigningRequest. It depends only on the request, so
// that a second run finds the certificate of the first run.
func requestName(provisioning string, request *x509.CertificateRequest) string {
	digest := sha256.Sum256(request.Raw)
	return "bpa-" + provisioning + "-" + hex.EncodeToString(digest[:8])
}

func (c *cluster) submit(ctx context.Context, in Input, request *x509.CertificateRequest) (*certificates.CertificateSigningRequest, error) {
	seconds := int32(lifetime / time.Second)
	name := requestName(in.Request.Provisioning, request)
	csr := &certificates.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{contract.LabelCluster: in.Request.Provisioning}},
		Spec: certificates.CertificateSigningRequestSpec{
			Request:           pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request.Raw}),
			SignerName:        certificates.KubeAPIServerClientSignerName,
			ExpirationSeconds: &seconds,
			Usages:            []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageClientAuth},
		},
	}
	made, err := c.requests.Create(ctx, csr, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	there, err := c.requests.Get(ctx, name, metav1.GetOptions{})
	if err == nil && (!bytes.Equal(there.Spec.Request, csr.Spec.Request) || there.Spec.SignerName != csr.Spec.SignerName) {
		err = task.Because(contract.ReasonInternal, fmt.Errorf("CertificateSigningRequest %s of the new cluster holds another request: delete it there", name))
	}
	return there, err
}

func (c *cluster) approve(ctx context.Context, name string) (*certificates.CertificateSigningRequest, error) {
	var csr *certificates.CertificateSigningRequest
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var err error
		if csr, err = c.requests.Get(ctx, name, metav1.GetOptions{}); err != nil || decided(csr, certificates.CertificateApproved) {
			return err
		}
		csr.Status.Conditions = append(csr.Status.Conditions, certificates.CertificateSigningRequestCondition{
			Type: certificates.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Provisioned",
			Message: "requested and approved by the Binary Provisioning Agent that installed this cluster",
		})
		csr, err = c.requests.UpdateApproval(ctx, name, csr, metav1.UpdateOptions{})
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
func (c *cluster) await(ctx context.Context, name string) (*certificates.CertificateSigningRequest, error) {
	for {
		csr, err := c.requests.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if done, err := answered(csr); done {
			return csr, err
		}
		changes, err := c.requests.Watch(ctx, metav1.ListOptions{
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
			return true, task.Because(contract.ReasonClusterUnhealthy,
				fmt.Errorf("the new cluster rejected the certificate request: %s: %s", c.Reason, c.Message))
		}
	}
	return len(csr.Status.Certificate) > 0, nil
}

// clientCA returns the CA with which the API server verifies client certificates. It can differ
// from the CA of the API server's own certificate.
func (c *cluster) clientCA(ctx context.Context) (*x509.CertPool, error) {
	const name, key = "extension-apiserver-authentication", "client-ca-file"
	m, err := c.maps.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, task.Because(kube.Reason(err), fmt.Errorf("read the new cluster's client CA: %w", err))
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(m.Data[key])) {
		return nil, task.Because(contract.ReasonClusterUnhealthy, fmt.Errorf("the new cluster's ConfigMap kube-system/%s has no certificate in %s", name, key))
	}
	return roots, nil
}

// check verifies that the certificate is for our key and subject, and that the API server will
// accept it.
func check(signed []byte, request *x509.CertificateRequest, roots *x509.CertPool) (*x509.Certificate, error) {
	fail := func(err error) (*x509.Certificate, error) {
		return nil, task.Because(contract.ReasonClusterUnhealthy, fmt.Errorf("the certificate that the new cluster signed is not usable: %w", err))
	}
	block, _ := pem.Decode(signed)
	if block == nil || block.Type != "CERTIFICATE" {
		return fail(errors.New("it is not PEM"))
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fail(err)
	}
	key, comparable := certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !comparable || !key.Equal(request.PublicKey) {
		return fail(errors.New("it is for another key"))
	}
	if certificate.Subject.String() != request.Subject.String() {
		return fail(fmt.Errorf("it is for %s instead of %s", certificate.Subject, request.Subject))
	}
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		return fail(err)
	}
	return certificate, nil
}
