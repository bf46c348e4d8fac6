package config

// auditPolicy says what the API server writes to its audit log: each change and who made it, and each access to a
// Secret or into a pod. The first rule that matches counts.
//
// The content of Secrets, tokens and ConfigMaps is never recorded. What grants rights, and the resources with which a
// cluster is changed, are recorded with their content, so that the log says what somebody wanted.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
# Heartbeats and questions about rights: many each second, and they change nothing.
- level: None
  resources:
  - {group: coordination.k8s.io, resources: [leases]}
  - {group: "", resources: [events]}
  - {group: events.k8s.io}
  - {group: authentication.k8s.io, resources: [tokenreviews]}
  - {group: authorization.k8s.io}
- level: None
  resources:
  - {group: "", resources: ["*/status"]}
  - {group: apps, resources: ["*/status"]}
  - {group: batch, resources: ["*/status"]}
  - {group: tekton.dev, resources: ["*/status"]}
  - {group: bpa.akraino.org, resources: ["*/status"]}
  - {group: metal3.io, resources: ["*/status"]}
- level: Metadata
  resources:
  - {group: "", resources: [secrets, serviceaccounts/token]}
  - {group: "", resources: [pods/attach, pods/ephemeralcontainers, pods/exec, pods/log, pods/portforward, pods/proxy, services/proxy, nodes/proxy]}
- level: None
  verbs: [get, list, watch]
- level: Request
  resources:
  - {group: "", resources: [namespaces]}
  - {group: rbac.authorization.k8s.io}
  - {group: admissionregistration.k8s.io}
  - {group: bpa.akraino.org, resources: [provisionings, softwares, backups]}
  - {group: metal3.io, resources: [baremetalhosts]}
- level: Metadata
`
