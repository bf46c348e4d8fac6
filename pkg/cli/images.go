package cli

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// images holds the images in use. The key is the digest. The value is a reference
// with that digest, or the digest alone.
type images map[string]string

var (
	// byDigest matches a digest together with the reference in front of it, if there is one. The
	// digest may be anywhere in a string, for example in an image, an imageID, an argument or a
	// template.
	byDigest = regexp.MustCompile(`(?:[A-Za-z0-9][A-Za-z0-9._:/\[\]-]*@)?sha256:[0-9a-f]{64}\b`)
	// byOther matches a reference with a digest of another algorithm. "depot gc --keep" does not
	// support such digests.
	byOther = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9._:/\[\]-]*@sha(?:384|512):[0-9a-f]{96,128}\b`)
)

// add records each digest in value, which is a part of a JSON object: a map, a list or a string. It
// uses no schema, so it also finds digests in unknown fields. Some of the
// digests may not belong to images. They do no harm, because the depot has no image with such a
// digest.
func (i images) add(value any) error {
	switch v := value.(type) {
	case string:
		if other := byOther.FindString(v); other != "" {
			return fmt.Errorf("it has the image %s, but gc supports only sha256 digests: tag the image in the depot, and refer to it by its sha256 digest", other)
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

// lines returns the references, sorted.
func (i images) lines() []string { return slices.Sorted(maps.Values(i)) }
