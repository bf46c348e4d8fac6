//go:build integration && newest

package conformance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/test/clients/listeners"
)

// program names the suite of 2026, a program that was built already. Its module could not be pinned as the older one is: see docs/decisions.
const program = "CONFORMANCE_SUITE"

// notClaimed is all that the suite may leave out, by the names that it has for them, with what it says of them. Each is optional in the specification.
var notClaimed = map[string]string{
	"Blob post only":               "Skip",     // a blob in the request that begins its upload; it is taken in the next
	"Blob anonymous mount":         "Skip",     // looking for a blob in repositories that the client has not named, and may have no right to read
	"Manifest put with tag params": "Disabled", // of a version of the specification that is not out; so are the next two
	"Tag Param":                    "Disabled",
	"Tag Param sha512":             "Disabled",
	"Sparse Manifests":             "Disabled", // a tag of what is not all there: a node would learn it when it pulls
}

// TestNewestConformance runs all that the suite has, but for what is not claimed: pull, push, content discovery and management, with every kind of content.
func TestNewestConformance(t *testing.T) {
	suite := os.Getenv(program)
	if suite == "" {
		t.Fatalf("%s is empty: name the conformance program of the distribution specification, built as its README says", program)
	}
	depot := listeners.Open(t)
	results := t.TempDir()
	out, err := listeners.Try(t, []string{
		"OCI_REGISTRY=" + depot.TLS, "SSL_CERT_FILE=" + depot.CA, "OCI_USERNAME=any", "OCI_PASSWORD=" + depot.Token,
		"OCI_REPO1=conformance/one", "OCI_REPO2=conformance/other", "OCI_RESULTS_DIR=" + results, "OCI_VERSION=1.1",
		"OCI_API_BLOBS_UPLOAD_CANCEL=true", "OCI_API_BLOBS_DIGEST_HEADER=true", "OCI_API_MANIFESTS_DIGEST_HEADER=true",
	}, suite)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(results, "results.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ APIs, Data map[string]string }
	if err := yaml.Unmarshal(text, &said); err != nil {
		t.Fatal(err)
	}
	const fewestAPIs, fewestData = 28, 24
	if len(said.APIs) < fewestAPIs || len(said.Data) < fewestData {
		t.Errorf("the suite tried %d requests and %d kinds of content, want %d and %d", len(said.APIs), len(said.Data), fewestAPIs, fewestData)
	}
	left := map[string]string{}
	for _, part := range []map[string]string{said.APIs, said.Data} {
		for name, status := range part {
			if status != "Pass" {
				left[name] = status
			}
		}
	}
	if diff := cmp.Diff(notClaimed, left); diff != "" {
		t.Errorf("what did not pass (-want +got):\n%s", diff)
	}
}
