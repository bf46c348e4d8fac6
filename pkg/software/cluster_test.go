package software

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// toolsOf returns a Software, changed.
func toolsOf(change func(*v1alpha1.Software)) *v1alpha1.Software {
	s := &v1alpha1.Software{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "tools"}}
	change(s)
	return s
}

// TestDoubtAbout: neither the edit of a label nor a new Provisioning moves a Software to another cluster. A user
// confirms this with the name of the Provisioning.
func TestDoubtAbout(t *testing.T) {
	p := func(name, label string) *v1alpha1.Provisioning {
		return &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: name, Labels: map[string]string{v1alpha1.LabelCluster: label}}}
	}
	gone := p("old", "")
	gone.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}
	all := []*v1alpha1.Provisioning{p("b", "x"), p("a", "x"), p("c", "z"), p("e", "f"), p("f", ""), p("g", "h"), p("h", "h"), gone}
	for what, test := range map[string]struct{ cluster, former, want, reason, says string }{
		"two with the label":                 {"x", "", "", ReasonAmbiguous, "Provisionings a and b"},
		"two with the label, one is former":  {"x", "a", "a", "", ""},
		"two with the label, none is former": {"x", "c", "", ReasonAmbiguous, "spec.cluster"},
		"a name and a label":                 {"f", "", "f", "", ""},
		"a name and a label, recorded":       {"f", "e", "e", "", ""},
		"a name and a label, of a third":     {"f", "c", "f", "", ""},
		"a name and its own label":           {"h", "", "h", "", ""},
		"one with the label":                 {"z", "", "c", "", ""},
		"it was for another one":             {"z", "a", "", ReasonClusterChanged, "write spec.cluster: c to confirm"},
		"this is confirmed":                  {"c", "a", "c", "", ""},
		"the former one is deleted":          {"z", "old", "c", "", ""},
		"the former one is gone":             {"z", "gone", "c", "", ""},
		"it was for this one":                {"z", "c", "c", "", ""},
		"none":                               {"none", "a", "", "", ""},
	} {
		s := toolsOf(func(s *v1alpha1.Software) { s.Spec.Cluster, s.Status.Cluster = test.cluster, test.former })
		got, reason, message := "", "", ""
		if found := ClusterOf(s, all); found != nil {
			got = found.Name
		}
		if doubt := DoubtAbout(s, all); doubt != nil {
			reason, message = doubt.Reason, doubt.Message
		}
		if got != test.want || reason != test.reason || !strings.Contains(message, test.says) {
			t.Errorf("%s: cluster %q, %s: %s; want %q, %s", what, got, reason, message, test.want, test.reason)
		}
	}
}

// TestClusterByLabel: a Provisioning whose name is the label that a Software has does not take over the
// Software. The Provisioning with this label counts more, and the recorded one most.
func TestClusterByLabel(t *testing.T) {
	p := func(name, label string) *v1alpha1.Provisioning {
		return &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: name, Labels: map[string]string{v1alpha1.LabelCluster: label}}}
	}
	first, second, third := p("edge-1", "line"), p("line", ""), p("edge-2", "line")
	for what, test := range map[string]struct {
		all                  []*v1alpha1.Provisioning
		former, want, passed string
	}{
		"the label":                        {[]*v1alpha1.Provisioning{first}, "", "edge-1", ""},
		"the name":                         {[]*v1alpha1.Provisioning{second}, "", "line", ""},
		"the label and the name":           {[]*v1alpha1.Provisioning{second, first}, "", "edge-1", "line"},
		"the label and the recorded name":  {[]*v1alpha1.Provisioning{second, first}, "line", "line", "edge-1"},
		"two labels and the name":          {[]*v1alpha1.Provisioning{third, second, first}, "", "", ""},
		"two labels and the name recorded": {[]*v1alpha1.Provisioning{third, second, first}, "edge-1", "edge-1", "edge-2 and line"},
	} {
		s := toolsOf(func(s *v1alpha1.Software) {
			s.Spec.Cluster, s.Labels, s.Status.Cluster = "", map[string]string{v1alpha1.LabelCluster: "line"}, test.former
		})
		got := ""
		if found := ClusterOf(s, test.all); found != nil {
			got = found.Name
		}
		if passed := Passed(s, test.all); got != test.want || passed != test.passed {
			t.Errorf("%s: cluster %q, passed %q; want %q, %q", what, got, passed, test.want, test.passed)
		}
	}
}
