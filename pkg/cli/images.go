package cli

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// images are those in use: a reference, or the digest alone, by digest.
type images map[string]string

var (
	// byDigest is a digest with the reference before it, if there is one. It may
	// stand anywhere in a string: in an image, an imageID, an argument, a template.
	byDigest = regexp.MustCompile(`(?:[A-Za-z0-9][A-Za-z0-9._:/\[\]-]*@)?sha256:[0-9a-f]{64}\b`)
	// byOther is a reference by a digest that "depot gc --keep" does not take.
	byOther = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9._:/\[\]-]*@sha(?:384|512):[0-9a-f]{96,128}\b`)
)

// add notes each digest in an object, which is of maps, lists and strings as
// JSON has them. It asks no schema where an image may be: a digest of something
// else keeps nothing that is there, and a field that is not known loses nothing.
func (i images) add(value any) error {
	switch v := value.(type) {
	case string:
		if other := byOther.FindString(v); other != "" {
			return fmt.Errorf("it names the image %s, and gc knows images by sha256 only: give the image a tag in the depot and name it by sha256", other)
		}
		for _, ref := range byDigest.FindAllString(v, -1) {
			digest := ref[strings.LastIndex(ref, "sha256:"):]
			if held, known := i[digest]; !known || held == digest {
				i[digest] = ref
			}
		}
	case []any:
		for _, item := range v {
			if err := i.add(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := i.add(v[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

// lines are the references, sorted.
func (i images) lines() []string { return slices.Sorted(maps.Values(i)) }
