package resources

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// Annotations of a run, in addition to those in package contract. They record the state of the
// Provisioning for which the run was started.
const (
	// AnnotationInputs is the digest of all inputs of the run.
	AnnotationInputs = "bpa.akraino.org/inputs-digest"
	// AnnotationReplaces lists the lost nodes and hosts that the run replaces: "worker-2=host-7
	// worker-3=host-9".
	AnnotationReplaces = "bpa.akraino.org/replaces"
	// AnnotationSSHKey is the fingerprint of the public part of the site's SSH key. AnnotationSSHSecret is
	// the resourceVersion of the Secret with the key.
	AnnotationSSHKey    = "bpa.akraino.org/ssh-key"
	AnnotationSSHSecret = "bpa.akraino.org/ssh-secret-version"
	// AnnotationPlugins identifies the plugins of the run's request (contract.PluginsDigest). AnnotationAsked is the
	// value of contract.AnnotationSoftware that a run for Softwares answers.
	AnnotationPlugins = "bpa.akraino.org/plugins-digest"
	AnnotationAsked   = "bpa.akraino.org/software-asked"
)

// Run describes a run of a Provisioning.
type Run struct {
	Operation string    // empty: install
	Release   string    // kubespray release; empty: the Tasks without a release in their names
	Replaces  []string  // "node=host", for the replace operation
	Restore   string    // contract.Restore.Asked, for a restore
	Asked     string    // contract.SoftwareRun.Asked, for a run for Softwares
	Number    int32     // number among all runs, which is a part of the name
	Request   types.UID // of the ConfigMap with the request, whose name has the same number
	Attempt   int32     // which attempt at the same requested state this run is, from 1; a failure that costs no attempt does not raise it
	Digest    string
	Inputs    string
	Retry     string // value of the retry annotation that requested the run
	CSR       string // PEM
	Played    string // digest of an inventory with which the playbook has already succeeded; empty: none
	// Plugins means that the run installs and removes plugins. PluginsDigest identifies those of its request.
	Plugins       bool
	PluginsDigest string
	// Unaccelerated means that the run has no acceleration of kubespray because an earlier attempt failed with it. It
	// has twice the time.
	Unaccelerated bool
	// SSHKey and SSHSecret are the values of the annotations with these names; empty: no
	// annotation.
	SSHKey, SSHSecret string
	// NodesKey is the value of runs.AnnotationNodesKey. Enroll means that the run installs this key on its hosts.
	NodesKey string
	Enroll   bool
}

// MakePipelineRun returns one attempt at an operation.
func MakePipelineRun(p *v1alpha1.Provisioning, run Run) *tekton.PipelineRun {
	operation := contract.OperationOf(run.Operation)
	m := meta(p, RunName(p.Name, operation.Name, run.Number))
	m.Labels[contract.LabelOperation] = operation.Name
	m.Labels[contract.LabelAttempt] = strconv.Itoa(int(run.Attempt))
	m.Labels[runs.LabelPipeline] = operation.Pipeline
	m.Annotations = map[string]string{
		contract.AnnotationRequestDigest: run.Digest,
		AnnotationInputs:                 run.Inputs,
		runs.AnnotationGeneration:        strconv.FormatInt(p.Generation, 10),
	}
	if len(run.Replaces) > 0 {
		m.Annotations[AnnotationReplaces] = strings.Join(run.Replaces, " ")
	}
	for name, value := range map[string]string{
		contract.AnnotationRetry: run.Retry, AnnotationSSHKey: run.SSHKey, AnnotationSSHSecret: run.SSHSecret, runs.AnnotationNodesKey: run.NodesKey,
		contract.AnnotationRestore: run.Restore, AnnotationPlugins: run.PluginsDigest, AnnotationAsked: run.Asked,
		runs.AnnotationRequest: string(run.Request),
	} {
		if value != "" {
			m.Annotations[name] = value
		}
	}
	siteKey := ""
	if run.Enroll {
		siteKey = p.Spec.SSH.Secret()
	}
	timeout := p.Spec.Timeouts.InstallTimeout()
	if run.Unaccelerated {
		timeout *= 2
	}
	return &tekton.PipelineRun{
		ObjectMeta: m,
		Spec: runs.Run{
			Name: p.Name, Request: contract.RunRequestName(p.Name, run.Number), Operation: operation, Release: run.Release, SSHSecret: contract.NodesKeyName(p.Name),
			SiteSSHSecret: siteKey,
			Timeout:       timeout, Plugins: run.Plugins, Vars: varsOf(p),
		}.Spec(makeParams(run, operation)...),
	}
}

// makeParams returns the params of a run that a Provisioning adds to those of its operation. It adds
// an inventory digest only if there is one, because a customized Pipeline may not declare this
// param.
func makeParams(run Run, operation contract.Operation) tekton.Params {
	var params tekton.Params
	if operation.Has(contract.TaskCollectKubeconfig) {
		params = append(params, runs.Param(contract.ParamCertificateRequest, run.CSR))
	}
	if run.Played != "" {
		params = append(params, runs.Param(contract.ParamPlayed, run.Played))
	}
	return params
}
