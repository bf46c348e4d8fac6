//go:build integration

package clients

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/test/clients/listeners"
)

type orasClient struct {
	program, config string
	at              endpoint
}

func newORAS(t *testing.T, program string, at endpoint) *orasClient {
	t.Helper()
	c := &orasClient{program, filepath.Join(t.TempDir(), "config.json"), at}
	if at.token != "" {
		must(t)(c.run(t, "", "login", "--username=any", "--password="+at.token, at.address))
	}
	return c
}

// run runs oras with the flags for the listener. side is the prefix of these flags in a copy (from-
// or to-), or empty.
func (c *orasClient) run(t *testing.T, side string, args ...string) (string, error) {
	t.Helper()
	return listeners.Try(t, nil, c.program, append(args, c.flags(side)...)...)
}

func (c *orasClient) flags(side string) []string {
	flags := []string{"--" + side + "registry-config=" + c.config}
	if c.at.ca == "" {
		return append(flags, "--"+side+"plain-http")
	}
	return append(flags, "--"+side+"ca-file="+c.at.ca)
}

func (c *orasClient) push(t *testing.T, layout, ref string) (string, error) {
	return c.run(t, "to-", "cp", "--from-oci-layout", layout+":v1", ref)
}

func (c *orasClient) pull(t *testing.T, ref, layout string) (string, error) {
	return c.run(t, "from-", "cp", ref, "--to-oci-layout", layout+":v1")
}

func (c *orasClient) copy(t *testing.T, from, to string) (string, error) {
	return c.run(t, "to-", append([]string{"cp", from, to}, c.flags("from-")...)...)
}

func (c *orasClient) tags(t *testing.T, repository string) []string {
	out, err := c.run(t, "", "repo", "tags", repository)
	must(t)(out, err)
	return slices.Sorted(strings.FieldsSeq(out))
}

func (c *orasClient) remove(t *testing.T, ref string) (string, error) {
	return c.run(t, "", "manifest", "delete", "--force", ref)
}
