package v1alpha1

import (
	"reflect"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/pkg/apis"
)

// ratchet leaves out those errors of an update that the stored object has as well, in fields that the update leaves as they are: rules grow from
// version to version, and an object that was accepted once can still be paused, labelled and changed elsewhere. The API server does the same with
// the rules of the CRD's schema. Items of lists are compared place by place.
func ratchet(errs *apis.FieldError, before, after *Provisioning) (left *apis.FieldError) {
	old := map[string]bool{}
	for _, err := range before.validate().WrappedErrors() {
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

// fieldsOf are the object's fields as in JSON; nil if it cannot be written as JSON, so that nothing is the same as before.
func fieldsOf(p *Provisioning) map[string]any {
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

// step is one part of a path: the name of a field or, in brackets, a place in a list.
var step = regexp.MustCompile(`[^.\[\]]+`)

// at is the value at a path such as spec.masters[0].m.cpu. What is not there is nil, and a path that leads into no field gives the whole value that
// it leads to.
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
