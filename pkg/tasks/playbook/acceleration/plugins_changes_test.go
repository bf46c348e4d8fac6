//go:build integration

package acceleration

import (
	"strings"
	"testing"
)

// A template that changes a variable changes it for its own task and host only.
func TestPluginsForgetWhatTemplatesChange(t *testing.T) {
	p := newPlayer(t)
	want := p.green("changes.yml", "")
	if all := strings.Join(want.events, "\n"); !strings.Contains(all, `"msg":" [1]"`) || !strings.Contains(all, `['file']`) {
		t.Fatalf("the templates have changed nothing:\n%s", all)
	}
	_, all := private(t, ","+threads+","+inProcess+","+lazy+","+facts+","+modules)
	for _, settings := range []string{"{" + threads + "}", "{" + inProcess + "}", "{" + facts + "}", all} {
		p.same(want, "changes.yml", settings)
	}
}
