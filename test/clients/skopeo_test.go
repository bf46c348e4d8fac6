//go:build integration

package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/akraino-icn/bpa/test/clients/listeners"
)

type skopeoClient struct {
	program, auth, certs string
	at                   endpoint
}

func newSkopeo(t *testing.T, program string, at endpoint) *skopeoClient {
	t.Helper()
	c := &skopeoClient{program: program, auth: filepath.Join(writeFile(t, "auth.json", "{}"), "auth.json"), at: at}
	if at.ca != "" {
		ca, err := os.ReadFile(at.ca)
		if err != nil {
			t.Fatal(err)
		}
		c.certs = writeFile(t, "ca.crt", string(ca))
	}
	if at.token != "" {
		must(t)(listeners.Try(t, nil, program, append([]string{"login", "--username=any", "--password=" + at.token, at.address}, c.flags("")...)...))
	}
	return c
}

// flags returns the flags for the listener. side is their prefix in a copy (src- or dest-), or
// empty.
func (c *skopeoClient) flags(side string) []string {
	flags := []string{"--authfile=" + c.auth}
	if c.at.ca == "" {
		return append(flags, "--"+side+"tls-verify=false")
	}
	return append(flags, "--"+side+"cert-dir="+c.certs)
}

// run runs skopeo without signature verification, because the images have no signatures.
func (c *skopeoClient) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return listeners.Try(t, nil, c.program, append([]string{"--insecure-policy"}, args...)...)
}

func (c *skopeoClient) push(t *testing.T, layout, ref string) (string, error) {
	return c.run(t, append([]string{"copy", "--all", "--preserve-digests", "oci:" + layout + ":v1", "docker://" + ref}, c.flags("dest-")...)...)
}

func (c *skopeoClient) pull(t *testing.T, ref, layout string) (string, error) {
	return c.run(t, append([]string{"copy", "--all", "--preserve-digests", "docker://" + ref, "oci:" + layout + ":v1"}, c.flags("src-")...)...)
}

func (c *skopeoClient) copy(t *testing.T, from, to string) (string, error) {
	flags := append(c.flags("src-"), c.flags("dest-")...)
	return c.run(t, append([]string{"copy", "--all", "--preserve-digests", "docker://" + from, "docker://" + to}, flags...)...)
}

func (c *skopeoClient) tags(t *testing.T, repository string) []string {
	out, err := c.run(t, append([]string{"list-tags", "docker://" + repository}, c.flags("")...)...)
	must(t)(out, err)
	var list struct{ Tags []string }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	slices.Sort(list.Tags)
	return list.Tags
}

func (c *skopeoClient) remove(t *testing.T, ref string) (string, error) {
	return c.run(t, append([]string{"delete", "docker://" + ref}, c.flags("")...)...)
}
