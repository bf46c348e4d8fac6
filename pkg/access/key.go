package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Key is a private key with the certificate request for it, both in PEM. Only Private is secret.
type Key struct {
	Private, Request []byte
}

// NewKey returns a new key with a request for a certificate of the user. The request names no group,
// because the rights of a group cannot be revoked for one certificate.
func NewKey(user string, random io.Reader) (Key, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return Key{}, fmt.Errorf("create a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Key{}, fmt.Errorf("encode a key: %w", err)
	}
	request, err := x509.CreateCertificateRequest(random, &x509.CertificateRequest{Subject: pkix.Name{CommonName: user}}, key)
	if err != nil {
		return Key{}, fmt.Errorf("create a certificate request: %w", err)
	}
	return Key{
		Private: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}),
	}, nil
}

// ParseRequest reads a certificate request in PEM and checks its signature. The signature proves that
// the author of the request has the private key.
func ParseRequest(text []byte) (*x509.CertificateRequest, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || strings.TrimSpace(string(rest)) != "" {
		return nil, errors.New("not one certificate request in PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err == nil {
		err = request.CheckSignature()
	}
	if err != nil {
		return nil, err
	}
	return request, nil
}

// UserOf returns the user for whom a stored request asks for a certificate, or false if the user is not
// one of BPA's.
func UserOf(request []byte) (User, bool) {
	parsed, err := ParseRequest(request)
	if err != nil {
		return User{}, false
	}
	return ParseUser(parsed.Subject.CommonName)
}

// Check verifies a signed certificate, in PEM: it is for the key and the subject of the request, and an
// API server that trusts roots accepts it.
func Check(signed []byte, request *x509.CertificateRequest, roots *x509.CertPool) (*x509.Certificate, error) {
	block, _ := pem.Decode(signed)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("it is not PEM")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, comparable := certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !comparable || !key.Equal(request.PublicKey) {
		return nil, errors.New("it is for another key")
	}
	if certificate.Subject.String() != request.Subject.String() {
		return nil, fmt.Errorf("it is for %s instead of %s", certificate.Subject, request.Subject)
	}
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		return nil, err
	}
	return certificate, nil
}

// EncodeCertificate returns a certificate in PEM.
func EncodeCertificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
