package admission

import (
	"reflect"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// ratchet removes those errors of an update that the stored object also has, if the update does not
// change the field with the error. A newer version of BPA has more rules than the version that
// accepted the object. Such an object must still be usable: a user can pause it, label it and
// change its other fields. The API server does the same for the rules of the CRD's schema. Items of
// lists are compared by position.
func ratchet(errs *apis.FieldError, before, after *v1alpha1.Provisioning) (left *apis.FieldError) {
	old := map[string]bool{}
	for _, err := range validateObject(before).WrappedErrors() {
		old[err.Error()] = true
	}
	was, is := fieldsOf(before), fieldsOf(after)
	for _, err := range errs.WrappedErrors() {
		if err.Level == apis.WarningLevel || !old[err.Error()] || !sameAt(err.Paths, was, is) {
			left = left.Also(err)
		}
	}
	return left
}

// fieldsOf returns the object's fields as a tree of maps and lists, with the names of the fields in
// JSON. It returns nil if the object cannot be converted; then every field counts as changed.
func fieldsOf(p *v1alpha1.Provisioning) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		return nil
	}
	return fields
}

func sameAt(paths []string, was, is map[string]any) bool {
	for _, path := range paths {
		if was == nil || is == nil || !reflect.DeepEqual(at(was, path), at(is, path)) {
			return false
		}
	}
	return true
}

// step matches one part of a path: the name of a field or, in brackets, a position in a list.
var step = regexp.MustCompile(`[^.\[\]]+`)

// at returns the value at a path such as spec.masters[0].m.cpu, or nil if there is none. If the
// path leads through a value that is neither a map nor a list, at returns that value.
func at(value any, path string) any {
	for _, name := range step.FindAllString(path, -1) {
		switch in := value.(type) {
		case map[string]any:
			value = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return nil
			}
			value = in[i]
		default:
			return value
		}
	}
	return value
}
