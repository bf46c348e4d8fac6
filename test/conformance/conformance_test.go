//go:build integration

package conformance

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/test/clients/listeners"
)

// fewest is the number of specs that the pinned suite runs at each listener. If fewer run, a
// workflow was disabled.
const fewest = 64

// skips are the specs that the suite skips, because they are for registries of another kind.
var skips = []string{
	// These two specs are for read-only registries, whose content is given in environment
	// variables.
	"Content Discovery Setup Populate registry with test tags (no push)",
	"Pull Setup Get tag name from environment",
	// This spec is for registries that do not mount blobs of other repositories. The depot mounts
	// them.
	"Push Cross-Repository Blob Mount Cross-mounting of nonexistent blob should yield session id",
	// This spec is for registries that search all repositories if a mount request names none. The
	// depot requires the upload of the blob instead (OCI_AUTOMATIC_CROSSMOUNT=0).
	"Push Cross-Repository Blob Mount Cross-mounting without from, and automatic content discovery enabled should return a 201",
}

func TestConformance(t *testing.T) {
	suite := build(t)
	depot := listeners.Open(t)
	t.Run("local listener", func(t *testing.T) {
		run(t, suite, "OCI_ROOT_URL=http://"+depot.Local, "OCI_USERNAME=any", "OCI_PASSWORD="+depot.LocalToken)
	})
	t.Run("TLS listener with a token", func(t *testing.T) {
		run(t, suite, "OCI_ROOT_URL=https://"+depot.TLS, "OCI_USERNAME=any", "OCI_PASSWORD="+depot.Token)
	})
}

func build(t *testing.T) (suite string) {
	t.Helper()
	suite = filepath.Join(t.TempDir(), "suite")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", suite, "github.com/opencontainers/distribution-spec/conformance")
	cmd.Dir = "modules/suite"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the suite: %v\n%s", err, out)
	}
	return suite
}

// run runs the suite. It fails the test for each failed spec, and if the skipped specs differ from
// skips.
func run(t *testing.T, suite string, env ...string) {
	dir := t.TempDir() // the suite writes its reports to the working folder
	t.Chdir(dir)
	out, err := listeners.Try(t, append(env, "OCI_NAMESPACE=conformance/one", "OCI_CROSSMOUNT_NAMESPACE=conformance/other", "OCI_AUTOMATIC_CROSSMOUNT=0",
		"OCI_TEST_PULL=1", "OCI_TEST_PUSH=1", "OCI_TEST_CONTENT_DISCOVERY=1", "OCI_TEST_CONTENT_MANAGEMENT=1"), suite, "-ginkgo.noColor")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	results := read(t, filepath.Join(dir, "junit.xml"))
	ran := 0
	var skipped []string
	for _, spec := range results {
		switch {
		case spec.Failure != nil:
			t.Errorf("failed: %s", spec.Name)
		case spec.Skipped != nil:
			skipped = append(skipped, spec.Name)
		default:
			ran++
		}
	}
	slices.Sort(skipped)
	if !slices.Equal(skipped, skips) {
		t.Errorf("skipped %q\nwant %q", skipped, skips)
	}
	if ran < fewest {
		t.Errorf("%d specs passed, want at least %d", ran, fewest)
	}
	t.Logf("%d specs passed, %d skipped", ran, len(skipped))
}

// spec is the result of one test of the suite.
type spec struct {
	Name    string  `xml:"name,attr"`
	Failure *string `xml:"failure"`
	Skipped *string `xml:"skipped"`
}

func read(t *testing.T, report string) []spec {
	t.Helper()
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Specs []spec `xml:"testcase"`
	}
	if err := xml.Unmarshal(text, &suite); err != nil {
		t.Fatal(err)
	}
	for i := range suite.Specs {
		suite.Specs[i].Name = strings.TrimPrefix(suite.Specs[i].Name, "OCI Distribution Conformance Tests ")
	}
	return suite.Specs
}
