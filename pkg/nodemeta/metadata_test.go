package nodemeta

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func recorded(m Metadata, set Metadata) Metadata {
	m.Annotations = merge(m.Annotations, map[string]string{Annotation: set.encode()})
	return m
}

func TestApplied(t *testing.T) {
	set := Metadata{
		Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{"note": "x"},
		Taints: []Taint{{Key: "b", Effect: "NoSchedule"}, {Key: "a", Value: "1", Effect: "NoSchedule"}},
	}
	node := recorded(Merge(Metadata{Labels: map[string]string{"other": "1"}, Taints: []Taint{{Key: "foreign", Effect: "NoExecute", TimeAdded: "2026-11-28T00:00:00Z"}}}, set), set)
	without := func(change func(*Metadata)) Metadata {
		changed := Merge(node, Metadata{})
		change(&changed)
		return changed
	}
	for name, test := range map[string]struct {
		node Metadata
		want string
	}{
		"nothing set":            {Metadata{Labels: set.Labels}, ""},
		"all there":              {node, set.Digest()},
		"label removed":          {without(func(m *Metadata) { delete(m.Labels, "zone") }), Differs},
		"label changed":          {without(func(m *Metadata) { m.Labels["zone"] = "b" }), Differs},
		"annotation removed":     {without(func(m *Metadata) { delete(m.Annotations, "note") }), Differs},
		"taint removed":          {without(func(m *Metadata) { m.Taints = m.Taints[1:2] }), Differs},
		"value of taint changed": {without(func(m *Metadata) { m.Taints[2].Value = "2" }), Differs},
		"foreign taint removed":  {without(func(m *Metadata) { m.Taints = m.Taints[1:] }), set.Digest()},
		"record not readable":    {without(func(m *Metadata) { m.Annotations[Annotation] = "{" }), Differs},
	} {
		if got := Applied(test.node); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	slices.Reverse(set.Taints)
	if Applied(node) != set.Digest() {
		t.Error("the order of taints matters")
	}
}

func TestPatch(t *testing.T) {
	foreign := Taint{Key: "node.kubernetes.io/not-ready", Effect: "NoExecute", TimeAdded: "2026-11-28T00:00:00Z"}
	zone := Metadata{Labels: map[string]string{"zone": "a"}}
	gpu := Metadata{Taints: []Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}}}
	for name, test := range map[string]struct {
		node, want Metadata
		patch      string
	}{
		"nothing":                    {Metadata{}, Metadata{}, ""},
		"nothing wanted of others":   {Metadata{Labels: zone.Labels, Taints: gpu.Taints}, Metadata{}, ""},
		"in step":                    {recorded(zone, zone), zone, ""},
		"first label":                {Metadata{}, zone, `{"metadata":{"annotations":{"bpa.akraino.org/applied-metadata":"{\"labels\":{\"zone\":\"a\"}}"},"labels":{"zone":"a"},"resourceVersion":"7"}}`},
		"label that is there":        {zone, zone, `{"metadata":{"annotations":{"bpa.akraino.org/applied-metadata":"{\"labels\":{\"zone\":\"a\"}}"},"resourceVersion":"7"}}`},
		"label of another":           {recorded(Metadata{Labels: map[string]string{"zone": "b"}}, zone), zone, `{"metadata":{"labels":{"zone":"a"},"resourceVersion":"7"}}`},
		"label not wanted":           {recorded(zone, zone), Metadata{}, `{"metadata":{"annotations":{"bpa.akraino.org/applied-metadata":null},"labels":{"zone":null},"resourceVersion":"7"}}`},
		"label changed by another":   {recorded(Metadata{Labels: map[string]string{"zone": "b"}}, zone), Metadata{}, `{"metadata":{"annotations":{"bpa.akraino.org/applied-metadata":null},"resourceVersion":"7"}}`},
		"taint beside another":       {Metadata{Taints: []Taint{foreign}}, gpu, `{"metadata":{"annotations":{"bpa.akraino.org/applied-metadata":"{\"taints\":[{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoSchedule\"}]}"},"resourceVersion":"7"},"spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoExecute","timeAdded":"2026-11-28T00:00:00Z"},{"key":"gpu","value":"yes","effect":"NoSchedule"}]}}`},
		"taint not wanted":           {recorded(Metadata{Taints: []Taint{foreign, gpu.Taints[0]}}, gpu), Metadata{}, `{"metadata":{"annotations":{"bpa.akraino.org/applied-metadata":null},"resourceVersion":"7"},"spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoExecute","timeAdded":"2026-11-28T00:00:00Z"}]}}`},
		"last taint not wanted":      {recorded(gpu, gpu), Metadata{}, `{"metadata":{"annotations":{"bpa.akraino.org/applied-metadata":null},"resourceVersion":"7"},"spec":{"taints":[]}}`},
		"taint with another value":   {recorded(Metadata{Taints: []Taint{{Key: "gpu", Value: "no", Effect: "NoSchedule"}}}, gpu), gpu, `{"metadata":{"resourceVersion":"7"},"spec":{"taints":[{"key":"gpu","value":"yes","effect":"NoSchedule"}]}}`},
		"unreadable record":          {Metadata{Labels: map[string]string{"old": "1"}, Annotations: map[string]string{Annotation: "?"}}, zone, `{"metadata":{"annotations":{"bpa.akraino.org/applied-metadata":"{\"labels\":{\"zone\":\"a\"}}"},"labels":{"zone":"a"},"resourceVersion":"7"}}`},
		"unreadable record, nothing": {Metadata{Annotations: map[string]string{Annotation: "?"}}, Metadata{}, `{"metadata":{"annotations":{"bpa.akraino.org/applied-metadata":null},"resourceVersion":"7"}}`},
	} {
		got, err := Patch(test.node, test.want, "7")
		if err != nil || string(got) != test.patch {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, test.patch)
		}
	}
}

// TestPatchRandomly: after the patch the Node has what is wanted and nothing else that BPA has set, what others have set
// stays, and a second patch has nothing to do.
func TestPatchRandomly(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func() (m Metadata) {
		for i := range 3 {
			if random.IntN(2) == 0 {
				m.Labels = merge(m.Labels, map[string]string{fmt.Sprint("l", i): fmt.Sprint(random.IntN(2))})
			}
			if random.IntN(2) == 0 {
				m.Annotations = merge(m.Annotations, map[string]string{fmt.Sprint("a", i): fmt.Sprint(random.IntN(2))})
			}
			if random.IntN(2) == 0 {
				m.Taints = append(m.Taints, Taint{Key: fmt.Sprint("t", i), Value: fmt.Sprint(random.IntN(2)), Effect: "NoSchedule"})
			}
		}
		return m
	}
	for range 5000 {
		others := Metadata{Labels: map[string]string{"other": "1"}, Annotations: map[string]string{"other": "1"}, Taints: []Taint{{Key: "other", Effect: "NoExecute"}}}
		node := others
		for range 3 {
			want := some()
			if node = apply(t, node, want); Applied(node) != want.Digest() {
				t.Fatalf("%+v has not exactly what is wanted: %+v", node, want)
			}
			if rest := node.remove(want); cmp.Diff(others, rest) != "" {
				t.Fatalf("beside what is wanted (-others +node):\n%s", cmp.Diff(others, rest))
			}
			if again, err := Patch(node, want, "7"); again != nil || err != nil {
				t.Fatalf("a second patch: %s %v", again, err)
			}
		}
	}
}

// apply does what the API server does with the patch.
func apply(t *testing.T, node, want Metadata) Metadata {
	t.Helper()
	text, err := Patch(node, want, "7")
	if err != nil {
		t.Fatal(err)
	}
	if text == nil {
		return node
	}
	var patch struct {
		Metadata struct{ Labels, Annotations map[string]*string }
		Spec     struct{ Taints *[]Taint }
	}
	if err := json.Unmarshal(text, &patch); err != nil {
		t.Fatal(err)
	}
	node = Merge(node, Metadata{})
	set := func(have map[string]string, changes map[string]*string) {
		for key, value := range changes {
			if value == nil {
				delete(have, key)
			} else {
				have[key] = *value
			}
		}
	}
	set(node.Labels, patch.Metadata.Labels)
	set(node.Annotations, patch.Metadata.Annotations)
	if patch.Spec.Taints != nil {
		node.Taints = *patch.Spec.Taints
	}
	return node
}

// remove returns what the Node has beside the metadata and their record.
func (m Metadata) remove(part Metadata) Metadata {
	m = Merge(m, Metadata{})
	for key := range part.Labels {
		delete(m.Labels, key)
	}
	for key := range part.Annotations {
		delete(m.Annotations, key)
	}
	delete(m.Annotations, Annotation)
	m.Taints = slices.DeleteFunc(m.Taints, func(t Taint) bool { return slices.ContainsFunc(part.Taints, t.equals) })
	return m
}
