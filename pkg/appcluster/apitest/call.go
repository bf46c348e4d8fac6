package apitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// parse reads the path of a request: /api/v1/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE, and the same below
// /apis/GROUP/VERSION and without a namespace.
func parse(r *http.Request) (Call, error) {
	call := Call{Host: hostOf(r), Fields: r.URL.Query().Get("fieldSelector"), Labels: r.URL.Query().Get("labelSelector")}
	words := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(words) > 2 && words[0] == "api":
		call.version, words = words[1], words[2:]
	case len(words) > 3 && words[0] == "apis":
		call.group, call.version, words = words[1], words[2], words[3:]
	default:
		return call, fmt.Errorf("%s is not the path of an object", r.URL.Path)
	}
	if words[0] == "namespaces" && len(words) > 2 {
		call.Namespace, words = words[1], words[2:]
	}
	words = append(words, "", "")
	call.Resource, call.Name, call.subres = words[0], words[1], words[2]
	call.Verb = map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[r.Method]
	switch {
	case call.subres == "eviction":
		call.Verb = "evict"
	case r.URL.Query().Get("watch") != "":
		call.Verb = "watch"
	case call.Verb == "get" && call.Name == "":
		call.Verb = "list"
	case call.Verb == "delete" && call.Name == "":
		call.Verb = "deletecollection"
	}
	text, err := io.ReadAll(r.Body)
	if err == nil && len(text) > 0 && r.Method != http.MethodDelete {
		err = json.Unmarshal(text, &call.Body)
	}
	return call, err
}

// hostOf returns the address of the API server that is called.
func hostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return r.Host
}

// selected returns the objects that the call means, as JSON.
func (c Call) selected(all []runtime.Object) (found []map[string]any, err error) {
	found = []map[string]any{}
	byFields, err := fields.ParseSelector(c.Fields)
	byLabels, bad := labels.Parse(c.Labels)
	if err := errors.Join(err, bad); err != nil {
		return nil, err
	}
	for _, o := range all {
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if u, is := o.(*unstructured.Unstructured); is {
			kinds, err = append(kinds, u.GroupVersionKind()), nil
		}
		if err != nil {
			return nil, err
		}
		resource, _ := apimeta.UnsafeGuessKindToResource(kinds[0])
		if resource.Resource != c.Resource || resource.Group != c.group {
			continue
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, err
		}
		content["kind"], content["apiVersion"] = kinds[0].Kind, kinds[0].GroupVersion().String()
		u := unstructured.Unstructured{Object: content}
		if c.Name != "" && c.Name != u.GetName() || c.Namespace != "" && c.Namespace != u.GetNamespace() {
			continue
		}
		if byLabels.Matches(labels.Set(u.GetLabels())) && byFields.Matches(fieldsOf(content)) {
			found = append(found, content)
		}
	}
	return found, nil
}

// listKind returns the kind of a list of these objects, such as PodList.
func (c Call) listKind() string {
	version := schema.GroupVersion{Group: c.group, Version: c.version}
	for kind := range scheme.Scheme.KnownTypes(version) {
		if resource, _ := apimeta.UnsafeGuessKindToResource(version.WithKind(kind)); resource.Resource == c.Resource {
			return kind + "List"
		}
	}
	return "List"
}

// fieldsOf gives a selector the fields of an object, such as spec.nodeName.
type fieldsOf map[string]any

func (f fieldsOf) Has(string) bool { return true }

func (f fieldsOf) Get(path string) string {
	text, _, _ := unstructured.NestedString(f, strings.Split(path, ".")...)
	return text
}

// merge makes the changes of a merge patch. It also serves for a strategic one that has no lists.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		below, both := into[key].(map[string]any)
		change, is := value.(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case both && is:
			merge(below, change)
		default:
			into[key] = value
		}
	}
}

// Unschedulable returns whether a patch of a node cordons it, and whether it says anything about this.
func (c Call) Unschedulable() (cordons, says bool) {
	spec, _ := c.Body["spec"].(map[string]any)
	value, says := spec["unschedulable"]
	return value == true, says && slices.Contains([]string{"patch", "update"}, c.Verb)
}
