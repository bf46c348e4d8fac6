package main

import (
	"fmt"
	"net"

	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/metrics-server/pkg/api"
	generatedopenapi "sigs.k8s.io/metrics-server/pkg/api/generated/openapi"
)

const title = "Kubernetes metrics-server"

// apiserver returns the configuration of the API server. The cluster's API server authenticates and
// authorizes each request.
func (o options) apiserver() (*genericapiserver.Config, error) {
	if err := o.serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.ParseIP("127.0.0.1")}); err != nil {
		return nil, fmt.Errorf("create a self-signed certificate: %w", err)
	}
	config := genericapiserver.NewConfig(api.Codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	if err := o.serving.ApplyTo(&config.SecureServing, &config.LoopbackClientConfig); err != nil {
		return nil, err
	}
	if err := o.authentication.ApplyTo(&config.Authentication, config.SecureServing, nil); err != nil {
		return nil, err
	}
	if err := o.authorization.ApplyTo(&config.Authorization); err != nil {
		return nil, err
	}
	namer := openapinamer.NewDefinitionNamer(api.Scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	config.OpenAPIConfig.Info.Title, config.OpenAPIV3Config.Info.Title = title, title
	return config, nil
}

// definitions are upstream's definitions of the served types. Upstream names a type by its Go package,
// and the library by the type's name in the API.
func definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	out := map[string]common.OpenAPIDefinition{}
	for name, d := range generatedopenapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return ref(util.ToRESTFriendlyName(name)) }) {
		for i, needed := range d.Dependencies {
			d.Dependencies[i] = util.ToRESTFriendlyName(needed)
		}
		out[util.ToRESTFriendlyName(name)] = d
	}
	return out
}
