package resources

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/kmeta"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Namespace is where the Tasks, the Pipelines and their ClusterRoles' namespaced companions are installed.
const Namespace = "bpa-system"

// LabelCAPICluster marks a kubeconfig Secret the way Cluster API does, so that its users find ours.
const LabelCAPICluster = "cluster.x-k8s.io/cluster-name"

// RunName is the name of a cluster's n-th run. It is deterministic: a create that is repeated after a crash meets the first one.
func RunName(provisioning, operation string, n int32) string {
	return fmt.Sprintf("%s-%s-%d", provisioning, operation, n)
}

// RunNumber reads n back from a run's name; 0 if the name is not one of ours.
func RunNumber(run string) int32 {
	n, err := strconv.ParseInt(run[strings.LastIndex(run, "-")+1:], 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

// Labels are on every object of a Provisioning; informers select by them.
func Labels(p *v1alpha1.Provisioning) map[string]string {
	return map[string]string{
		contract.LabelCluster:          p.Name,
		"app.kubernetes.io/part-of":    "bpa",
		"app.kubernetes.io/managed-by": "bpa-controller",
	}
}

// meta is the metadata of an object of p: whatever p owns goes when p goes.
func meta(p *v1alpha1.Provisioning, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       p.Namespace,
		Labels:          Labels(p),
		OwnerReferences: []metav1.OwnerReference{*kmeta.NewControllerRef(p)},
	}
}
