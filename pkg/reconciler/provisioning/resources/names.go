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

// LabelCAPICluster marks a kubeconfig Secret as Cluster API does, so that tools for Cluster API
// find the Secret.
const LabelCAPICluster = "cluster.x-k8s.io/cluster-name"

// RunName returns the name of a cluster's n-th run. The same arguments give the same name: if the
// controller crashes and creates the run again, it finds the existing run.
func RunName(provisioning, operation string, n int32) string {
	return fmt.Sprintf("%s-%s-%d", provisioning, operation, n)
}

// RunNumber returns n from a run's name. It returns 0 if the name does not end in a number.
func RunNumber(run string) int32 {
	n, err := strconv.ParseInt(run[strings.LastIndex(run, "-")+1:], 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

// Labels returns the labels that every object of a Provisioning has. Informers select objects by
// the label contract.LabelCluster.
func Labels(p *v1alpha1.Provisioning) map[string]string {
	return map[string]string{
		contract.LabelCluster:          p.Name,
		"app.kubernetes.io/part-of":    "bpa",
		"app.kubernetes.io/managed-by": "bpa-controller",
	}
}

// meta returns the metadata of an object of p. p owns the object, so that Kubernetes deletes the
// object together with p. The owner reference does not block the deletion of p. Otherwise, if a user
// deletes p in the foreground (`kubectl delete --cascade=foreground`), Kubernetes would also delete
// the objects of the run that resets the hosts.
func meta(p *v1alpha1.Provisioning, name string) metav1.ObjectMeta {
	owner := *kmeta.NewControllerRef(p)
	owner.BlockOwnerDeletion = nil
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       p.Namespace,
		Labels:          Labels(p),
		OwnerReferences: []metav1.OwnerReference{owner},
	}
}
