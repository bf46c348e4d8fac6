#!/usr/bin/env bash
# Runs the demo on a running bootstrap machine (make demo starts it first). The demo creates lab
# machines and applies one Provisioning. It shows the progress, and then uses the new cluster with
# the kubeconfig in its Secret. A second run starts again with new machines.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BPA_STATE:?is not set: run this with make demo}"
namespace=${DEMO_NAMESPACE:-edge} name=edge-1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

step() { printf '\n\033[1m[%02d:%02d] %s\033[0m\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

release= network=
if [ -n "${KUBESPRAY:-}" ]; then
  echo "This demo runs the real kubespray v2.31.0 (about four minutes; \`make demo KUBESPRAY=\` runs the lab's stand-in playbooks)."
else
  # the plain Tasks are kubespray's if the machine was deployed with it
  ! kubectl get task kubespray-stand-in --namespace bpa-system >/dev/null 2>&1 || release=stand-in
  network=custom_cni # the lab's own pod network, the only one that the stand-in installs
  echo "This demo runs the lab's stand-in playbooks, which only install (make kubespray && make up brings kubespray)."
fi

step "Create lab machines: three that fit, one that is too small, one in error"
# Delete the Provisionings of an earlier demo, so that they release their hosts. No reset is needed,
# because the machines are removed too.
kubectl get provisionings --namespace "$namespace" --output name 2>/dev/null >"$scratch/earlier" || true
xargs -r -I{} kubectl patch {} --namespace "$namespace" --type=merge --patch '{"spec":{"deletionPolicy":"Retain"}}' <"$scratch/earlier"
xargs -r kubectl delete --namespace "$namespace" --timeout=180s <"$scratch/earlier"
lab down --namespace "$namespace"
lab up --namespace "$namespace" --nodes 3 --misfits 2
run kubectl get baremetalhosts --namespace "$namespace" --request-timeout=10s

step "Apply one resource: master-1 is pinned by its MAC address, two workers request CPUs and memory"
mac=$(kubectl get baremetalhost host-1 --namespace "$namespace" --output 'jsonpath={.status.hardware.nics[0].mac}' --request-timeout=10s)
{
  sed "s/00:00:00:00:00:00/$mac/; s/namespace: .*/namespace: $namespace/; ${release:+s/^  kubespray:/&\n    release: $release/;} ${network:+s/^    serviceSubnet:/    networkPlugin: $network\n&/}" test/demo/provisioning.yaml
  lab vars | sed 's/^/      /'
} >"$scratch/provisioning.yaml"
sed '/vars:/q' "$scratch/provisioning.yaml"
run kubectl apply --filename "$scratch/provisioning.yaml" --request-timeout=30s

step "Watch its progress until the kubeconfig exists"
run kubectl bpa watch "$name" --namespace "$namespace" --timeout 30m

step "Show the result and its pipeline run"
run kubectl get provisioning "$name" --namespace "$namespace" --request-timeout=10s
kubectl get pipelinerun --namespace "$namespace" --selector "bpa.akraino.org/cluster=$name" --request-timeout=10s

step "Use the new cluster with the kubeconfig in the Secret"
run kubectl bpa kubeconfig "$name" --namespace "$namespace" --to "$scratch/kubeconfig"
run kubectl --kubeconfig "$scratch/kubeconfig" wait node --all --for=condition=Ready --timeout=120s
run kubectl --kubeconfig "$scratch/kubeconfig" get nodes --output wide
run kubectl --kubeconfig "$scratch/kubeconfig" run hello --image=registry.k8s.io/pause:3.10.1 --restart=Never
run kubectl --kubeconfig "$scratch/kubeconfig" wait pod/hello --for=condition=Ready --timeout=120s
run kubectl --kubeconfig "$scratch/kubeconfig" get pods --all-namespaces --output wide

step "Done. To go on with it in your shell"
cat <<END
  eval "\$($BPA_STATE/bin/machine env)"
  kubectl bpa status $name -n $namespace                 # the cluster, its nodes and its runs
  kubectl bpa plan $name -n $namespace                   # what an edit of the spec would do
  kubectl edit bpa $name -n $namespace                   # for example: add nfd to spec.KUDPlugins
  kubectl delete bpa $name -n $namespace                 # resets its machines
END
