package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// kubeconfigKey is the key of the kubeconfig in its Secret, the same as Cluster API's.
const kubeconfigKey = "value"

type kubeconfigOptions struct {
	to        string // file
	format    string // yaml or json
	merge     bool
	entry     string
	overwrite bool
	rotate    bool
	timeout   time.Duration // of a rotation; 0: no limit
}

// rotateLimit is the default of --timeout. A healthy cluster needs seconds.
const rotateLimit = 2 * time.Minute

func newKubeconfig(s *session) *cobra.Command {
	var o kubeconfigOptions
	cmd := &cobra.Command{
		Use:   "kubeconfig NAME",
		Short: "Get the kubeconfig of a provisioned cluster",
		Long: `Get the kubeconfig of a provisioned cluster. It contains a private key, so only
the owner can read the files that this command writes.

With --merge it becomes a context in your kubeconfig, with the name of the
Provisioning. The current context does not change.

With --rotate the kubeconfig gets a new user, and the cluster refuses all earlier
copies of it. The command waits until this is done. With --to or --merge it
then writes the new kubeconfig. If a run is active, the rotation waits for its end.

` + exitCodes(),
		Example: `  kubectl bpa kubeconfig edge-1 --to edge-1.kubeconfig
  kubectl bpa kubeconfig edge-1 --merge && kubectl --context=edge-1 get nodes
  kubectl --kubeconfig=<(kubectl bpa kubeconfig edge-1) get nodes
  kubectl bpa kubeconfig edge-1 --rotate --to edge-1.kubeconfig`,
		Args: oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.checkOutput(s); err != nil {
				return err
			}
			if o.merge && (o.to != "" || o.format != "") {
				return usageError(fmt.Errorf("--merge and --to or --output exclude each other: --merge writes to your kubeconfig"))
			}
			if !o.merge && (o.entry != "" || o.overwrite) {
				return usageError(fmt.Errorf("--context-name and --overwrite need --merge"))
			}
			if err := checkTimeout(o.timeout, "--rotate", o.rotate || !cmd.Flags().Changed("timeout")); err != nil {
				return err
			}
			return s.kubeconfig(cmd.Context(), first(args), o)
		},
	}
	completeArgs(cmd, s.clusterNames())
	cmd.Flags().StringVar(&o.to, "to", "", "file to write, with mode 0600 (default, and with -: stdout)")
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "output format: yaml, json (default yaml)")
	complete(cmd, "output", func(*cobra.Command, []string) []string { return []string{"yaml", "json"} })
	cmd.Flags().BoolVar(&o.merge, "merge", false, "add the kubeconfig to yours as a context")
	cmd.Flags().StringVar(&o.entry, "context-name", "", "name of the merged context (default NAME)")
	cmd.Flags().BoolVar(&o.overwrite, "overwrite", false, "replace a context of that name even if it is for another cluster")
	cmd.Flags().BoolVar(&o.rotate, "rotate", false, "give the kubeconfig a new user, and make all earlier copies useless")
	cmd.Flags().DurationVar(&o.timeout, "timeout", rotateLimit, "with --rotate: stop waiting after this time; 0: no limit")
	return cmd
}

// checkOutput checks the format. For one release more, -o also takes the name of a file, as it did before --to.
func (o *kubeconfigOptions) checkOutput(s *session) error {
	switch {
	case o.format == "" || o.format == "yaml" || o.format == "json":
		return nil
	case o.to != "":
		return usageError(fmt.Errorf("--output is %q: the formats are yaml, json", o.format))
	}
	_, _ = fmt.Fprintf(s.ErrOut, "--output is a format: the next release takes the name of a file only in --to. Use --to %s\n", o.format)
	o.to, o.format = o.format, ""
	return nil
}

func (s *session) kubeconfig(ctx context.Context, name string, o kubeconfigOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	data, err := site.kubeconfig(ctx, name)
	if err != nil {
		return err
	}
	if o.rotate {
		if data, err = s.rotate(ctx, site, name, data, o.timeout); err != nil {
			return err
		}
	}
	if o.format == "json" {
		if data, err = asJSON(data); err != nil {
			return err
		}
	}
	switch {
	case o.merge:
		if o.entry == "" {
			o.entry = name
		}
		return s.merge(site, data, o)
	case o.to != "" && o.to != "-":
		if err := writePrivate(o.to, data); err != nil {
			return fmt.Errorf("write kubeconfig: %w", err)
		}
		_, err = fmt.Fprintf(s.ErrOut, "wrote %s%s; use it:\n  kubectl --kubeconfig %s get nodes\n", o.to, describeUser(data), o.to)
		return err
	case o.rotate && o.to == "" && o.format == "":
		_, err = fmt.Fprintf(s.ErrOut, "Get the new kubeconfig:\n  %s\n", site.kubectl("bpa kubeconfig "+name, "--to "+name+".kubeconfig"))
		return err
	}
	_, err = s.Out.Write(data)
	return err
}

// asJSON converts YAML into indented JSON.
func asJSON(text []byte) ([]byte, error) {
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "    "); err != nil {
		return nil, err
	}
	return append(out.Bytes(), '\n'), nil
}

// kubeconfig reads the Secret that the controller wrote, and checks its content.
func (s *site) kubeconfig(ctx context.Context, name string) ([]byte, error) {
	p, err := s.get(ctx, name)
	if err != nil {
		return nil, err
	}
	secretName := contract.KubeconfigName(name)
	if k := p.Status.Kubeconfig; k != nil && k.SecretName != "" {
		secretName = k.SecretName
	}
	var secret corev1.Secret
	err = s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: secretName}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, s.notYet(p, secretName)
	}
	if err != nil {
		return nil, s.explain(err)
	}
	k, err := access.ParseKubeconfig(secret.Data[kubeconfigKey])
	if err != nil {
		return nil, fmt.Errorf("secret %s, key %s: %w: if the Secret was edited, delete it, and the controller creates it again", secretName, kubeconfigKey, err)
	}
	return k.Encode() // nothing else of the Secret leaves it: whoever may edit the Secret could write a program into it
}

// notYet returns an error that explains why there is no kubeconfig and what the user can do next.
func (s *site) notYet(p *v1alpha1.Provisioning, secretName string) error {
	if verdictOf(p) == ready {
		return exitf(codeNotYet, "%s is ready, but its kubeconfig (Secret %s) is gone. The controller creates it again, so try again. If that does not help, check that the controller runs:\n  kubectl get pods -n bpa-system%s",
			p.Name, secretName, s.flags)
	}
	return exitf(codeNotYet, "%s has no kubeconfig yet (Secret %s): %s\n%s",
		p.Name, secretName, whyNoKubeconfig(p), strings.Join(s.advice(p), "\n"))
}

// whyNoKubeconfig describes the condition that explains why there is no kubeconfig. It describes
// KubeconfigReady. If KubeconfigReady is absent, is true or only waits for other conditions, it
// describes Ready instead.
func whyNoKubeconfig(p *v1alpha1.Provisioning) string {
	cond := p.Status.GetCondition(v1alpha1.ConditionKubeconfigReady)
	if cond == nil || cond.Reason == v1alpha1.ReasonWaiting || cond.IsTrue() {
		cond = p.Status.GetCondition(v1alpha1.ConditionReady)
	}
	if cond == nil {
		return "the controller has not reported its state"
	}
	text := fmt.Sprintf("%s is %s", cond.Type, cond.Status)
	if cond.Reason != "" {
		text += " (" + cond.Reason + ")"
	}
	if message := explanation(p, cond); message != "" {
		text += ": " + message
	}
	return text
}

// describeUser returns a text with the user of a kubeconfig and the end of its certificate; empty: it has
// no client certificate.
func describeUser(data []byte) string {
	k, err := access.ParseKubeconfig(data)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (user %s, valid until %s)", clean(k.Leaf.Subject.CommonName), k.Leaf.NotAfter.UTC().Format(time.DateOnly))
}
