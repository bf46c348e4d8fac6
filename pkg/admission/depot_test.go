package admission

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

func certificatePEM(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
}

func TestDepotCA(t *testing.T) {
	certificate, key := certificatePEM(t)
	const url = "https://10.60.0.1:5443"
	for name, d := range map[string]v1alpha1.DepotSpec{
		"one":               {URL: url, CABundle: certificate},
		"two, a blank line": {URL: url, CABundle: certificate + "\n" + certificate + "\n\n"},
		"with a remark":     {URL: url, CABundle: "# the depot's\n" + certificate},
		"the system's":      {URL: url},
	} {
		if err := CheckDepot(&d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, tc := range map[string]struct {
		d    v1alpha1.DepotSpec
		want string
	}{
		"without a URL":    {v1alpha1.DepotSpec{CABundle: certificate}, "without the address"},
		"plain HTTP":       {v1alpha1.DepotSpec{URL: "http://10.60.0.1:5000", CABundle: certificate}, "has no certificate to check"},
		"with a key":       {v1alpha1.DepotSpec{URL: url, CABundle: certificate + key}, "something other than PEM certificates"},
		"a path":           {v1alpha1.DepotSpec{URL: url, CABundle: "/etc/ssl/ca.pem"}, "something other than PEM certificates"},
		"broken":           {v1alpha1.DepotSpec{URL: url, CABundle: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"}, "cannot be read"},
		"a whole store":    {v1alpha1.DepotSpec{URL: url, CABundle: strings.Repeat(certificate, 60)}, "bytes, more than the limit"},
		"text at the end":  {v1alpha1.DepotSpec{URL: url, CABundle: certificate + "and more"}, "something other than PEM certificates"},
		"a template in it": {v1alpha1.DepotSpec{URL: url, CABundle: "{{ lookup('file', '/etc/shadow') }}"}, "something other than PEM certificates"},
	} {
		err := CheckDepot(&tc.d)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "caBundle") {
			t.Errorf("%s: %v; want %q", name, err, tc.want)
		}
	}
}

func TestUploadedImage(t *testing.T) {
	for _, good := range []string{"c1/edge-1/Debian-13.qcow2", "A/b/c"} {
		if err := validateImage((&v1alpha1.OSImageSpec{Upload: good})); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for name, tc := range map[string]struct {
		image v1alpha1.OSImageSpec
		want  string
	}{
		"two sources":    {v1alpha1.OSImageSpec{Upload: "a/b/c", URL: "http://d/x"}, "two sources"},
		"a checksum":     {v1alpha1.OSImageSpec{Upload: "a/b/c", Checksum: strings.Repeat("0", 64)}, "two sources"},
		"a name alone":   {v1alpha1.OSImageSpec{Upload: "debian.qcow2"}, "OWNER/CLUSTER/NAME"},
		"a way out":      {v1alpha1.OSImageSpec{Upload: "a/../c"}, "does not name an upload"},
		"a template":     {v1alpha1.OSImageSpec{Upload: "a/{{b}}/c"}, "does not name an upload"},
		"neither of two": {v1alpha1.OSImageSpec{}, "the URL is missing"},
	} {
		if err := validateImage(&tc.image); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", name, err, tc.want)
		}
	}
}
