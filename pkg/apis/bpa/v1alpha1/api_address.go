package v1alpha1

import "slices"

// normalized returns the address with its defaults, and its names sorted; nil: the address of a control plane, and no
// further names.
func (a *APISpec) normalized() *APISpec {
	if a == nil {
		return nil
	}
	a = a.DeepCopy()
	orDefault(&a.Mode, APINode)
	if a.Mode != APINode {
		orDefault(&a.Port, DefaultAPIPort)
	}
	slices.Sort(a.Names)
	if a.Names = slices.Compact(a.Names); len(a.Names) == 0 {
		a.Names = nil
	}
	if a.Mode == APINode && a.Address == "" && a.Port == 0 && len(a.Names) == 0 {
		return nil
	}
	return a
}
