package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/plugin"
)

// findImages sets Images and Unlisted.
func (r *Rendered) findImages(p plugin.Plugin) error {
	found := map[string]bool{}
	for _, image := range p.IndirectImages {
		found[image] = true
	}
	for _, o := range slices.Concat(r.Objects, r.Test) {
		if isCRD(o) {
			continue // its schema describes containers and has none
		}
		var wrong error
		eachImage(o.Object, func(image string) {
			if err := plugin.CheckImage(image); err != nil && wrong == nil {
				wrong = fmt.Errorf("%s: %w", nameOf(o), err)
			}
			found[image] = true
		})
		if wrong != nil {
			return wrong
		}
		eachString(o.Object, func(text string) {
			for _, image := range p.Images {
				if !found[image] && mentions(text, image) {
					found[image] = true
				}
			}
		})
	}
	for image := range found {
		r.Images = append(r.Images, image)
		if !slices.Contains(p.Images, image) && !slices.Contains(p.IndirectImages, image) {
			r.Unlisted = append(r.Unlisted, image)
		}
	}
	slices.Sort(r.Images)
	slices.Sort(r.Unlisted)
	return nil
}

// eachImage calls use with each image that containers and volumes name, also those in templates of
// pods inside of other objects.
func eachImage(value any, use func(string)) {
	switch v := value.(type) {
	case []any:
		for _, inner := range v {
			eachImage(inner, use)
		}
	case map[string]any:
		for name, inner := range v {
			switch name {
			case "containers", "initContainers", "ephemeralContainers":
				eachContainer(inner, use)
			case "volumes":
				eachVolume(inner, use)
			}
			eachImage(inner, use)
		}
	}
}

func eachContainer(list any, use func(string)) {
	containers, _ := list.([]any)
	for _, one := range containers {
		container, _ := one.(map[string]any)
		if image, ok := container["image"].(string); ok {
			use(image)
		}
	}
}

func eachVolume(list any, use func(string)) {
	volumes, _ := list.([]any)
	for _, one := range volumes {
		volume, _ := one.(map[string]any)
		image, _ := volume["image"].(map[string]any)
		if reference, ok := image["reference"].(string); ok {
			use(reference)
		}
	}
}

func eachString(value any, use func(string)) {
	switch v := value.(type) {
	case string:
		use(v)
	case []any:
		for _, inner := range v {
			eachString(inner, use)
		}
	case map[string]any:
		for _, inner := range v {
			eachString(inner, use)
		}
	}
}

// mentions reports whether the text has this image, and not only one whose name or tag has the same
// beginning or end.
func mentions(text, image string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], image)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(image)
		if (start == 0 || !inReference(text[start-1])) && (end == len(text) || !inReference(text[end])) {
			return true
		}
		at = start + 1
	}
}

func inReference(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-/:@", c) >= 0
}
