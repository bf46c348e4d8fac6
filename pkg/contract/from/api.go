package from

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// makeAPI returns the address of the API servers; nil: that of a control plane, without further names. Two specs that
// request the same give the same, since they are normalized.
func makeAPI(spec *v1alpha1.APISpec) *contract.API {
	if spec == nil {
		return nil
	}
	api := contract.API{Names: slices.Clone(spec.Names)}
	if spec.Mode == v1alpha1.APIExternal || spec.Mode == v1alpha1.APIVIP {
		api.Address, api.Port, api.Virtual = spec.Address, int(spec.Port), spec.Mode == v1alpha1.APIVIP
	}
	if api.Address == "" && len(api.Names) == 0 {
		return nil
	}
	return &api
}
