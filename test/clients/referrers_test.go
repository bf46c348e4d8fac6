//go:build integration

package clients

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/test/clients/listeners"
)

// TestClientsAttach checks that oras attaches artifacts to an image, discovers them, copies them
// with the image and removes them. For other clients the image does not change.
func TestClientsAttach(t *testing.T) {
	depot := listeners.Open(t)
	image := makeImage(t)
	program := listeners.Build(t, "modules/oras", "oras.land/oras/cmd/oras")
	writer := newORAS(t, program, endpoint{address: depot.TLS, ca: depot.CA, token: depot.Token})
	reader := newORAS(t, program, endpoint{address: depot.Plain})
	const repository = "/attached/app"
	ref := depot.TLS + repository
	must(t)(writer.push(t, image.layout, ref+":v1"))

	signature := writer.attach(t, ref+"@"+image.digest, "test/signature")
	bill := writer.attach(t, ref+":v1", "test/sbom")
	writer.attach(t, ref+"@"+signature, "test/countersignature")
	if tags := writer.tags(t, ref); !slices.Equal(tags, []string{"v1"}) {
		t.Errorf("tags %q: oras maintains the referrers list itself, because the depot does not announce its referrers API", tags)
	}
	// With this flag, oras maintains the list of attached artifacts itself, like a client that does
	// not know the referrers API.
	old := writer.attach(t, ref+":v1", "test/old", "--distribution-spec=v1.1-referrers-tag")

	reader.discovers(t, depot.Plain+repository+":v1", map[string]string{signature: "test/signature", bill: "test/sbom", old: "test/old"})
	reader.discovers(t, depot.Plain+repository+":v1", map[string]string{bill: "test/sbom"}, "--artifact-type=test/sbom")

	must(t)(writer.run(t, "to-", append([]string{"cp", "-r", ref + ":v1", ref + "-copy:v2"}, writer.flags("from-")...)...))
	image.isAt(t, depot.Plain+repository+"-copy:v2")
	reader.discovers(t, depot.Plain+repository+"-copy:v2", map[string]string{signature: "test/signature", bill: "test/sbom", old: "test/old"})
	reader.discoversOne(t, depot.Plain+repository+"-copy@"+signature, "test/countersignature")

	must(t)(writer.remove(t, ref+"@"+bill))
	reader.discovers(t, depot.Plain+repository+":v1", map[string]string{signature: "test/signature", old: "test/old"})
	must(t)(writer.remove(t, ref+"@"+image.digest))
	image.isGone(t, depot.Plain+repository+"@"+image.digest)
	image.isAt(t, depot.Plain+repository+"-copy:v2") // a deletion does not affect other repositories
	reader.discovers(t, depot.Plain+repository+"-copy:v2", map[string]string{signature: "test/signature", bill: "test/sbom", old: "test/old"})
}

// attach attaches an artifact to ref and returns its digest.
func (c *orasClient) attach(t *testing.T, ref, artifactType string, flags ...string) string {
	t.Helper()
	file := writeFile(t, "about", artifactType) + "/about:text/plain"
	args := append([]string{"attach", "--disable-path-validation", "--artifact-type=" + artifactType, "--format=json"}, flags...)
	out, err := c.run(t, "", append(args, ref, file)...)
	must(t)(out, err)
	var made struct{ Digest string }
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &made); err != nil || made.Digest == "" {
		t.Fatalf("%v: %s", err, out)
	}
	return made.Digest
}

type discovered struct{ Digest, ArtifactType string }

func (c *orasClient) discover(t *testing.T, ref string, flags ...string) []discovered {
	t.Helper()
	out, err := c.run(t, "", append(append([]string{"discover", "--format=json", "--distribution-spec=v1.1-referrers-api"}, flags...), ref)...)
	must(t)(out, err)
	var list struct{ Manifests []discovered }
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &list); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return list.Manifests
}

// discovers checks that exactly the artifacts in want are attached to ref. want contains the types
// of the artifacts by digest.
func (c *orasClient) discovers(t *testing.T, ref string, want map[string]string, flags ...string) {
	t.Helper()
	found := c.discover(t, ref, flags...)
	for _, one := range found {
		if want[one.Digest] != one.ArtifactType {
			t.Errorf("%v is attached to %s, want %v", one, ref, want)
		}
	}
	if len(found) != len(want) {
		t.Errorf("attached to %s: %v, want %v", ref, found, want)
	}
}

func (c *orasClient) discoversOne(t *testing.T, ref, artifactType string) {
	t.Helper()
	if found := c.discover(t, ref); len(found) != 1 || found[0].ArtifactType != artifactType {
		t.Errorf("attached to %s: %v, want one of type %s", ref, found, artifactType)
	}
}
