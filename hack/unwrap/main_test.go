package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnwrap(t *testing.T) {
	const crd = `schema:
  description: |-
    Timeout limits the run. Default
    10m.

    There are two values:
    - one, which
      is long
    - two
  properties:
    a:
      description: one line
      type: string
    b:
      description: |-
        First
        second.
`
	const want = `schema:
  description: |-
    Timeout limits the run. Default 10m.

    There are two values:
    - one, which
      is long
    - two
  properties:
    a:
      description: one line
      type: string
    b:
      description: |-
        First second.
`
	var got strings.Builder
	if err := unwrap(strings.NewReader(crd), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
