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

// program is the name of the environment variable with the path of the suite of 2026, which is an
// executable program. docs/decisions explains why the version of this suite is not pinned.
const program = "CONFORMANCE_SUITE"

// notClaimed contains the tests of the suite that do not pass, with their expected results by name.
// Each of them tests something that is optional in the specification.
var notClaimed = map[string]string{
	"Blob post only":               "Skip",     // the blob is in the request that starts the upload; the depot accepts it only in the next request
	"Blob anonymous mount":         "Skip",     // a mount without a source: the depot would search repositories that the client may not be allowed to read
	"Manifest put with tag params": "Disabled", // from an unreleased version of the specification, like the next two
	"Tag Param":                    "Disabled",
	"Tag Param sha512":             "Disabled",
	"Sparse Manifests":             "Disabled", // a tag of an incomplete image: nodes would fail when they pull it
}

// TestNewestConformance runs the whole suite (pull, push, content discovery and management, with
// all kinds of content). All tests except notClaimed must pass.
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
	var report struct{ APIs, Data map[string]string }
	if err := yaml.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	const fewestAPIs, fewestData = 28, 24
	if len(report.APIs) < fewestAPIs || len(report.Data) < fewestData {
		t.Errorf("the suite tested %d requests and %d kinds of content, want at least %d and %d", len(report.APIs), len(report.Data), fewestAPIs, fewestData)
	}
	left := map[string]string{}
	for _, part := range []map[string]string{report.APIs, report.Data} {
		for name, status := range part {
			if status != "Pass" {
				left[name] = status
			}
		}
	}
	if diff := cmp.Diff(notClaimed, left); diff != "" {
		t.Errorf("tests that did not pass (-want +got):\n%s", diff)
	}
}
