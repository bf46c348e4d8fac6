package engine

import (
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// TestTemplatesCallMethods: charts can call the methods of what Helm and its functions give to them.
func TestTemplatesCallMethods(t *testing.T) {
	const text = `{{ .Files.Get "a.txt" }} {{ (.Files.Glob "*.txt").AsConfig }} {{ .Capabilities.APIVersions.Has "v1" }} ` +
		`{{ .Capabilities.KubeVersion.GitVersion }} {{ (semver "1.35.4").Minor }} {{ (toDate "2006-01-02" "2026-11-28").Format "02.01." }} {{ .Chart.Name }}`
	c := &chart.Chart{
		Metadata:  &chart.Metadata{Name: "one", Version: "1.0.0"},
		Templates: []*chart.File{{Name: "templates/a", Data: []byte(text)}},
		Files:     []*chart.File{{Name: "a.txt", Data: []byte("content")}},
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = chartutil.KubeVersion{Version: "v1.35.4"}
	values, err := chartutil.ToRenderValues(c, nil, chartutil.ReleaseOptions{Name: "one"}, capabilities)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Render(c, values)
	if want := "content a.txt: content true v1.35.4 35 28.11. one"; err != nil || got["one/templates/a"] != want {
		t.Errorf("%v\n%s, want\n%s", err, got["one/templates/a"], want)
	}
}
