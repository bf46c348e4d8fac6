package software_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/software"
)

// api is an API server that has only Softwares. It sends one object per page.
type api struct {
	t     *testing.T
	all   []v1alpha1.Software
	paths []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.paths = append(a.paths, r.URL.Path)
	if r.URL.Query().Get("limit") == "" {
		a.t.Errorf("%s has no limit", r.URL)
	}
	_, owner, _ := strings.Cut(r.URL.Query().Get("labelSelector"), "owner=")
	_, rest, scoped := strings.Cut(r.URL.Path, "/namespaces/")
	namespace, _, _ := strings.Cut(rest, "/")
	var found v1alpha1.SoftwareList
	for _, s := range a.all {
		if (!scoped || s.Namespace == namespace) && (owner == "" || s.Labels["owner"] == owner) {
			found.Items = append(found.Items, s)
		}
	}
	at := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &at)
	if at+1 < len(found.Items) {
		found.Continue = fmt.Sprint(at + 1)
	}
	found.Items = found.Items[min(at, len(found.Items)):min(at+1, len(found.Items))]
	if err := json.NewEncoder(w).Encode(found); err != nil {
		a.t.Error(err)
	}
}

func connect(t *testing.T, h http.Handler) *software.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := software.New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	early = metav1.NewTime(time.Unix(1e9, 0).UTC())
	late  = metav1.NewTime(early.Add(time.Hour))
)

// made returns a Software of cluster edge with one package on each node, "NODE PACKAGE STATE".
func made(namespace, name string, since metav1.Time, rows ...string) v1alpha1.Software {
	s := v1alpha1.Software{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"cluster": "edge"}}}
	for _, row := range rows {
		part := strings.Fields(row)
		s.Status.Nodes = append(s.Status.Nodes, v1alpha1.SoftwareNodeStatus{Name: part[0], Checked: &since, Message: "from " + name, Packages: []v1alpha1.SoftwarePackageStatus{
			{Name: part[1], Wanted: "2", Installed: "1", State: part[2], Since: &since, Message: "message"},
		}})
	}
	return s
}

func everything(string) (bool, error) { return true, nil }

func TestStatus(t *testing.T) {
	named := made("alpha", "named", early, "n1 jq Drifted")
	named.Labels, named.Spec.Cluster = map[string]string{"cluster": "other"}, "edge"
	byProvisioning := made("alpha", "p", early, "n3 htop Outdated")
	byProvisioning.Labels, byProvisioning.Status.Cluster = nil, "edge"
	other := made("alpha", "other", early, "n9 other Installed")
	other.Labels = map[string]string{"cluster": "another"}
	a := &api{t: t, all: []v1alpha1.Software{
		made("alpha", "a", late, "n1 curl Installed", "n2 curl Failed"), made("alpha", "b", early, "n2 curl Pending"), named, byProvisioning, other,
		made("beta", "a", late, "n8 curl Installed"),
	}}
	got, err := connect(t, a).Status(t.Context(), "alpha", "edge", everything)
	if err != nil {
		t.Fatal(err)
	}
	row := func(name, state string, since metav1.Time) protocol.PackageStatus {
		return protocol.PackageStatus{Name: name, Wanted: "2", Installed: "1", State: state, Since: &since.Time, Message: "message"}
	}
	want := protocol.ClusterStatus{
		Owner: "alpha", ClusterName: "edge", Namespace: "alpha", Totals: protocol.StatusTotals{Packages: 4, Installed: 1, Failed: 1, Drifted: 1, Outdated: 1},
		Nodes: []protocol.NodeStatus{
			{Node: "n1", Checked: &late.Time, Message: "from a", Packages: []protocol.PackageStatus{row("curl", "installed", late), row("jq", "drifted", early)}},
			{Node: "n2", Checked: &late.Time, Message: "from a", Packages: []protocol.PackageStatus{row("curl", "failed", late)}},
			{Node: "n3", Checked: &early.Time, Message: "from p", Packages: []protocol.PackageStatus{row("htop", "outdated", early)}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The owner of ICN's objects is a label. The namespace with the owner's name comes first, and a namespace
// that the caller may not read is as good as absent.
func TestWhoseSoftwaresAreRead(t *testing.T) {
	labelled := func(namespace string) v1alpha1.Software {
		s := made(namespace, "a", early, "n1 curl Installed")
		s.Labels["owner"] = "c1"
		return s
	}
	for name, c := range map[string]struct {
		all   []v1alpha1.Software
		owner string
		may   string
		want  string
	}{
		"by namespace":             {[]v1alpha1.Software{made("c1", "a", early, "n curl Failed"), labelled("a")}, "c1", "c1 a", "c1"},
		"by label":                 {[]v1alpha1.Software{labelled("default"), labelled("other")}, "c1", "default other", "default"},
		"by label, another may":    {[]v1alpha1.Software{labelled("default"), labelled("other")}, "c1", "other", "other"},
		"no right":                 {[]v1alpha1.Software{labelled("default"), made("c1", "a", early, "n curl Failed")}, "c1", "", ""},
		"owner is no namespace":    {[]v1alpha1.Software{labelled("default")}, "C1", "default", ""},
		"owner is no label either": {nil, "a~b", "", ""},
	} {
		may := func(namespace string) (bool, error) { return strings.Contains(c.may, namespace), nil }
		got, err := connect(t, &api{t: t, all: c.all}).Status(t.Context(), c.owner, "edge", may)
		if err != nil || got.Namespace != c.want || (len(got.Nodes) > 0) != (c.want != "") {
			t.Errorf("%s: %+v, %v; want namespace %q", name, got, err, c.want)
		}
	}
}

func TestStatusFails(t *testing.T) {
	text := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, body) }
	}
	for want, answer := range map[string]http.HandlerFunc{
		"300-softwares.yaml": text(404, "404 page not found"),
		"right to list":      text(403, `{"kind": "Status", "message": "forbidden"}`),
		"500":                text(500, ""),
		"invalid character":  text(200, "<html>"),
		"more than 1000":     text(200, `{"metadata": {"continue": "again"}}`),
	} {
		if got, err := connect(t, answer).Status(t.Context(), "alpha", "edge", everything); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v; want an error with %q", got, err, want)
		}
	}
}
