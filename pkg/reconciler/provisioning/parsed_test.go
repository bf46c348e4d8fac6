package provisioning

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// changed returns an error if a reader has changed what a text says.
func (p *parsed) changed() error {
	json := []reflect.Type{
		reflect.TypeFor[contract.Request](), reflect.TypeFor[[]contract.Node](), reflect.TypeFor[*contract.Progress](), reflect.TypeFor[[]contract.PluginStatus](),
		reflect.TypeFor[contract.HostStates](), reflect.TypeFor[*contract.Installed](), reflect.TypeFor[contract.SoftwareRecord](),
	}
	for _, all := range p.of {
		for from, is := range all {
			if !slices.Contains(json, from.as) {
				continue
			}
			if diff := cmp.Diff(again(from, is.text), is.says); diff != "" {
				return fmt.Errorf("%s of %s was changed after it was parsed (-text +now):\n%s", from.field, from.object, diff)
			}
		}
	}
	return nil
}

// again parses a text without parsed.
func again(from source, text string) any {
	value := reflect.New(from.as)
	if text != "" {
		_ = json.Unmarshal([]byte(text), value.Interface())
	}
	return value.Elem().Interface()
}

func TestParsed(t *testing.T) {
	var p parsed
	at, calls := key{Namespace: site, Name: name}, 0
	read := func(field, text string) int {
		return parse(p.about(at), "cm", field, text, func(text string) int {
			calls++
			return len(text)
		})
	}
	for _, r := range []struct {
		field, text string
		want, calls int
	}{
		{"a", "one", 3, 1}, {"a", "one", 3, 1}, {"b", "four", 4, 2}, {"a", "three", 5, 3}, {"b", "four", 4, 3}, {"a", "one", 3, 4},
	} {
		if got := read(r.field, r.text); got != r.want || calls != r.calls {
			t.Errorf("%s %q: %d after %d calls, want %d after %d", r.field, r.text, got, calls, r.want, r.calls)
		}
	}
	p.about(at).drop()
	read("a", "one")
	if p.about(at).drop(); read("a", "one") != 3 || calls != 4 {
		t.Errorf("a text that each visit uses is parsed %d times, want 4", calls)
	}
	if read("b", "four"); calls != 5 {
		t.Error("a text that a visit has not used is remembered")
	}
	if p.forget(at); read("a", "one") != 3 || calls != 6 {
		t.Errorf("a Provisioning that was deleted is remembered: %d calls", calls)
	}
}
