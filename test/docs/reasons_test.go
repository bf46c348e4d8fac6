package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// unlisted are the reasons without a row: nothing is to be read about them. Each has its reason.
var unlisted = map[string]string{
	"Available": "True", "Claimed": "True", "Installed": "True", "NodesReady": "True", "NoPlugins": "True", "NoProblems": "True", "Valid": "True",
	"Waiting":           "waits for another condition, which has the reason",
	"Starting":          "the message has the run",
	"Running":           "the message has the run",
	"StoringKubeconfig": "for a moment",
}

// TestEachReasonHasARow: each reason of a failure and of a condition has a row in a table of
// docs/reasons.md.
func TestEachReasonHasARow(t *testing.T) {
	page, err := os.ReadFile("../../docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(string(page), -1) {
		for _, name := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(row[1], -1) {
			rows[name[1]] = true
		}
	}
	all := slices.Concat(reasons(t, "../../pkg/contract"), reasons(t, "../../pkg/reconciler/provisioning/plan"), reasons(t, "../../pkg/apis/bpa/v1alpha1"))
	if len(all) < 60 {
		t.Fatalf("only %d reasons: %v", len(all), all)
	}
	for _, name := range all {
		if why := unlisted[name]; rows[name] != (why == "") {
			t.Errorf("%s: has a row: %v, is unlisted because: %q", name, rows[name], why)
		}
	}
	for name := range unlisted {
		if !slices.Contains(all, name) {
			t.Errorf("%s is unlisted, and no reason", name)
		}
	}
}

// retries is what the column "retry" begins with.
var retries = map[contract.Retry]string{
	contract.RetryNever:          "no",
	contract.RetryLimited:        "yes, with backoff",
	contract.RetryEndless:        "yes, with backoff and without a limit",
	contract.RetryUntilInstalled: "yes, with backoff; without a limit until the cluster is installed",
	contract.RetryInARow:         "yes, 30 s to 5 min",
	contract.RetryBeforePlaybook: "yes, with backoff and without a limit, unless a playbook has begun",
	contract.RetryEvery:          "yes, every 30 s",
	contract.RetryAtOnce:         "yes, after 2 s, without an attempt",
}

// onceMore are the reasons after which there is one other attempt, but not always.
var onceMore = []contract.Reason{contract.ReasonSSHDenied, contract.ReasonPlaybookFailed, contract.ReasonOutOfMemory}

// TestFailurePolicyOfEachReason: each reason of a failed run has a failure policy, and the column "retry" of docs/reasons.md says when the next
// attempt starts.
func TestFailurePolicyOfEachReason(t *testing.T) {
	page, err := os.ReadFile("../../docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)`[ *]* \\| [^|]* \\| ([^|]*) \\| [^|]*\\|$").FindAllStringSubmatch(string(page), -1) {
		column[row[1]] = row[2]
	}
	all := reasons(t, "../../pkg/contract")
	for _, name := range all {
		reason, says := contract.Reason(name), column[name]
		policy, known := contract.FailurePolicies[reason]
		if !known {
			t.Errorf("%s has no failure policy", name)
		}
		if slices.Contains(onceMore, reason) {
			if policy.Retry != contract.RetryNever || !strings.Contains(says, "once") {
				t.Errorf("%s: the page says %q, and its failure policy is %d", name, says, policy.Retry)
			}
			continue
		}
		found, longest := contract.Retry(-1), ""
		for retry, text := range retries {
			if (says == text || strings.HasPrefix(says, text+", ")) && len(text) > len(longest) {
				found, longest = retry, text
			}
		}
		if found != policy.Retry {
			t.Errorf("%s: the page says %q, want %q", name, says, retries[policy.Retry])
		}
	}
	if len(all) != len(contract.FailurePolicies) {
		t.Errorf("%d reasons and %d failure policies", len(all), len(contract.FailurePolicies))
	}
}

// reasons returns the values of the constants of a package whose names begin with "reason" or "Reason", except
// those of Backups and Softwares, which have pages of their own.
func reasons(t *testing.T, folder string) (all []string) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files in %s, %v", len(files), folder, err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.Base(path), "backup") || strings.HasPrefix(filepath.Base(path), "software") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is || len(spec.Values) != 1 || !strings.HasPrefix(strings.ToLower(spec.Names[0].Name), "reason") {
				return true
			}
			if value, is := spec.Values[0].(*ast.BasicLit); is && value.Kind == token.STRING {
				if name, err := strconv.Unquote(value.Value); err == nil {
					all = append(all, name)
				}
			}
			return true
		})
	}
	return all
}
