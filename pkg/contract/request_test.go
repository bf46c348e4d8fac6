package contract

import (
	"slices"
	"testing"
)

func TestGone(t *testing.T) {
	for _, tc := range []struct {
		name    string
		request Request
		want    []string
	}{
		{"nothing is lost", Request{}, nil},
		{"a lost node leaves", Request{Record: Record{Lost: []string{"a"}}}, []string{"a"}},
		{"a lost node stays", Request{Record: Record{Lost: []string{"a", "b"}, Kept: []string{"a"}}}, []string{"b"}},
		{"all lost nodes stay", Request{Record: Record{Lost: []string{"a"}, Kept: []string{"a"}}}, nil},
	} {
		if got := tc.request.Gone(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
