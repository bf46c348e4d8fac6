package access

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUserNames(t *testing.T) {
	for _, cluster := range []string{"e", "edge-1", "Edge_1.north", strings.Repeat("a", 63)} {
		for _, kind := range []Kind{Admin, Health} {
			u, err := NewUser(cluster, kind, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			if len(u.String()) > 64 {
				t.Errorf("%s has %d bytes, more than a CommonName may have", u, len(u.String()))
			}
			got, ok := ParseUser(u.String())
			if diff := cmp.Diff(u, got); !ok || diff != "" {
				t.Errorf("%s (-want +got):\n%s", u, diff)
			}
			if want := "bpa-" + string(kind) + "-" + u.ID; u.Binding() != want {
				t.Errorf("binding %s, want %s", u.Binding(), want)
			}
		}
	}
	if _, err := NewUser("edge-1", Admin, bytes.NewReader([]byte{1, 2, 3})); err == nil {
		t.Error("a user without enough random bytes")
	}
}

func TestOtherUsers(t *testing.T) {
	for _, name := range []string{
		"", "edge-1-admin", "system:masters", "bpa:edge-1:admin:", "bpa:edge-1:admin:0123abc", "bpa:edge-1:admin:0123abcde", "bpa:edge-1:admin:0123ABCD",
		"bpa:edge-1:root:0123abcd", "bpa::admin:0123abcd", "bpa:a:b:admin:0123abcd", "x bpa:edge-1:admin:0123abcd", "bpa:edge-1:admin:0123abcd\n",
	} {
		if u, ok := ParseUser(name); ok || u != (User{}) {
			t.Errorf("%q is taken for %+v", name, u)
		}
	}
}

// TestKey: the request is for the user alone, without a group, and holds nothing secret.
func TestKey(t *testing.T) {
	key, err := NewKey("bpa:edge-1:admin:0123abcd", rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := ParseRequest(key.Request)
	if err != nil {
		t.Fatal(err)
	}
	if got := request.Subject.String(); got != "CN=bpa:edge-1:admin:0123abcd" || strings.Contains(string(key.Request), "PRIVATE") {
		t.Errorf("subject %s, request %s", got, key.Request)
	}
	if u, ok := UserOf(key.Request); !ok || u.ID != "0123abcd" {
		t.Errorf("user %+v", u)
	}
	for _, bad := range []string{"", "x", string(key.Private), string(key.Request) + string(key.Request)} {
		if _, err := ParseRequest([]byte(bad)); err == nil {
			t.Errorf("%.40q is taken for a request", bad)
		}
	}
}

func TestRevoked(t *testing.T) {
	value := Revoked("bpa:edge-1:admin:0123abcd", "", "bpa:edge-1:health:0123abcd", "edge-1-install-1")
	if value != "bpa:edge-1:admin:0123abcd - bpa:edge-1:health:0123abcd edge-1-install-1" {
		t.Errorf("value %q", value)
	}
	for user, want := range map[string]bool{"bpa:edge-1:admin:0123abcd": true, "bpa:edge-1:admin:0123abce": false, "bpa:edge-1:health:0123abcd": false} {
		if RevokedFor(value, user) != want {
			t.Errorf("%s: %t", user, !want)
		}
	}
	if RevokedFor("", "bpa:edge-1:admin:0123abcd") {
		t.Error("no annotation counts")
	}
}

// TestKubeconfigsThatAreNotUsed: BPA uses only certificates, keys and an https address.
func TestKubeconfigsThatAreNotUsed(t *testing.T) {
	for name, text := range map[string]string{
		"empty":      "",
		"no context": "apiVersion: v1\nkind: Config\n",
		"a program": `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
			"clusters":[{"name":"c","cluster":{"server":"https://10.0.0.1","certificate-authority-data":"eA=="}}],
			"users":[{"name":"u","user":{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"true","interactiveMode":"Never"}}}]}`,
		"files": `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
			"clusters":[{"name":"c","cluster":{"server":"https://10.0.0.1","certificate-authority-data":"eA=="}}],
			"users":[{"name":"u","user":{"client-certificate":"/etc/passwd","client-key":"/etc/passwd"}}]}`,
		"plain HTTP": `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
			"clusters":[{"name":"c","cluster":{"server":"http://10.0.0.1","certificate-authority-data":"eA=="}}],"users":[{"name":"u","user":{"token":"x"}}]}`,
		"no CA": `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
			"clusters":[{"name":"c","cluster":{"server":"https://10.0.0.1","insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{"token":"x"}}]}`,
	} {
		if k, err := ParseKubeconfig([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, k)
		}
	}
}
