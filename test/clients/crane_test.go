//go:build integration

package clients

import (
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/test/clients/listeners"
)

type craneClient struct {
	program string
	at      endpoint
	env     []string
}

func newCrane(t *testing.T, program string, at endpoint) *craneClient {
	t.Helper()
	home := t.TempDir()
	c := &craneClient{program, at, []string{"DOCKER_CONFIG=" + home, "SSL_CERT_FILE=" + at.ca, "SSL_CERT_DIR=" + home}}
	if at.token != "" {
		must(t)(c.run(t, "auth", "login", at.address, "-u", "any", "-p", at.token))
	}
	return c
}

func (c *craneClient) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	if c.at.ca == "" {
		args = append(args, "--insecure")
	}
	return listeners.Try(t, c.env, c.program, args...)
}

func (c *craneClient) push(t *testing.T, layout, ref string) (string, error) {
	return c.run(t, "push", layout, ref)
}

func (c *craneClient) pull(t *testing.T, ref, layout string) (string, error) {
	return c.run(t, "pull", "--format=oci", ref, layout)
}

func (c *craneClient) copy(t *testing.T, from, to string) (string, error) {
	return c.run(t, "copy", from, to)
}

func (c *craneClient) tags(t *testing.T, repository string) []string {
	out, err := c.run(t, "ls", repository)
	must(t)(out, err)
	return slices.Sorted(strings.FieldsSeq(out))
}

func (c *craneClient) remove(t *testing.T, ref string) (string, error) {
	return c.run(t, "delete", ref)
}
