package contract

import (
	"encoding/json"
	"strings"
)

// HostState describes what the task kubespray knows about the content of a host.
type HostState string

const (
	// HostUsed means that the task has changed the host, or was about to. The host can contain a
	// part of a cluster.
	HostUsed HostState = "used"
	// HostClean means that a reset has removed everything and has checked this.
	HostClean HostState = "clean"
)

// HostStates has the states of hosts by their UIDs. The task kubespray stores it under KeyHosts in
// the ConfigMap InstalledName. It stores HostUsed before it changes the host for the first time. A
// host that is not in the map was not changed.
type HostStates map[string]HostState

// ParseHostStates parses the JSON of HostStates. For an empty text it returns nil.
func ParseHostStates(text string) (HostStates, error) {
	if text == "" {
		return nil, nil
	}
	states := HostStates{}
	err := json.Unmarshal([]byte(text), &states)
	return states, err
}

// User identifies a Provisioning in AnnotationUsedBy: "NAMESPACE/NAME UID".
type User struct {
	Namespace, Name, UID string
}

func (u User) String() string { return u.Namespace + "/" + u.Name + " " + u.UID }

// Cluster returns "NAMESPACE/NAME", or only the name if the namespace is unknown.
func (u User) Cluster() string {
	if u.Namespace == "" {
		return u.Name
	}
	return u.Namespace + "/" + u.Name
}

// ParseUser parses the value of AnnotationUsedBy. It accepts any text, because a user can write the
// annotation too.
func ParseUser(text string) User {
	cluster, uid, _ := strings.Cut(text, " ")
	namespace, name, both := strings.Cut(cluster, "/")
	if !both {
		namespace, name = "", cluster
	}
	return User{Namespace: namespace, Name: name, UID: uid}
}

// User returns the Provisioning of the request as a User.
func (r Request) User() User { return User{Namespace: r.Namespace, Name: r.Provisioning, UID: r.UID} }
