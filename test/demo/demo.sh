#!/usr/bin/env bash
# The demo, on a bootstrap machine that is up (make demo brings it up first): lab machines, one Provisioning, its progress, and then the new
# cluster used through the kubeconfig in the Secret. Run it again and it starts over with fresh machines.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BPA_STATE:?run make demo}"
namespace=${DEMO_NAMESPACE:-edge} name=edge-1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

step() { printf '\n\033[1m[%02d:%02d] %s\033[0m\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

release=
if [ -n "${KUBESPRAY:-}" ]; then
  release=v2.31.0
  echo "This demo runs the real kubespray v2.31.0 (about four minutes; \`make demo KUBESPRAY=\` runs the lab's stand-in playbooks)."
else
  echo "This demo runs the lab's stand-in playbooks: this machine has no kubespray (make kubespray brings it)."
fi

step "Lab: three machines that fit, one that is too small, one that is out of order"
kubectl get provisionings --namespace "$namespace" --output name 2>/dev/null | # an earlier demo's, so that its hosts are free
  xargs -r kubectl delete --namespace "$namespace" --timeout=180s
lab down --namespace "$namespace"
lab up --namespace "$namespace" --nodes 3 --misfits 2
run kubectl get baremetalhosts --namespace "$namespace" --request-timeout=10s

step "One resource: master-1 pinned by its MAC address, two workers by CPU and memory"
mac=$(kubectl get baremetalhost host-1 --namespace "$namespace" --output 'jsonpath={.status.hardware.nics[0].mac}' --request-timeout=10s)
{
  sed "s/00:00:00:00:00:00/$mac/; s/namespace: .*/namespace: $namespace/; ${release:+s/^  kubespray:/&\n    release: $release/}" test/demo/provisioning.yaml
  lab vars | sed 's/^/      /'
} >"$scratch/provisioning.yaml"
sed '/vars:/q' "$scratch/provisioning.yaml"
run kubectl apply --filename "$scratch/provisioning.yaml" --request-timeout=30s

step "Its progress, until the kubeconfig is there"
run kubectl bpa watch "$name" --namespace "$namespace" --timeout 30m

step "What ran"
run kubectl get provisioning "$name" --namespace "$namespace" --request-timeout=10s
kubectl get pipelinerun --namespace "$namespace" --selector "bpa.akraino.org/cluster=$name" --request-timeout=10s

step "The new cluster, through the kubeconfig in the Secret"
run kubectl bpa kubeconfig "$name" --namespace "$namespace" --output "$scratch/kubeconfig"
run kubectl --kubeconfig "$scratch/kubeconfig" wait node --all --for=condition=Ready --timeout=120s
run kubectl --kubeconfig "$scratch/kubeconfig" get nodes --output wide
run kubectl --kubeconfig "$scratch/kubeconfig" run hello --image=registry.k8s.io/pause:3.10.1 --restart=Never
run kubectl --kubeconfig "$scratch/kubeconfig" wait pod/hello --for=condition=Ready --timeout=120s
run kubectl --kubeconfig "$scratch/kubeconfig" get pods --all-namespaces --output wide

step "Done. Delete it with: kubectl delete provisioning $name --namespace $namespace"
