package auth

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Group is the API group of the resources below. No such kinds exist in Kubernetes; roles may name them all the same.
const Group = "depot.bpa.akraino.org"

// Resources of Group, one for each door.
const (
	// Images are the registry's, at /v2. Cluster-wide: all clusters pull the same ones. Resource names are repositories, such as
	// "coredns/coredns".
	Images = "images"
	// Artifacts are uploads at /v1, in the namespace of their owner if its name can be one, else cluster-wide. Resource names are
	// clusters.
	Artifacts = "artifacts"
	// ArtifactStatus is what is installed where, at /v1 as well: who reports that need not be able to change artifacts.
	ArtifactStatus = "artifacts/status"
	// Files are downloads at /files. Cluster-wide. Resource names are paths without a leading slash.
	Files = "files"
)

// Verbs of the resources.
const (
	Get    = "get"
	Create = "create"
	Update = "update" // also: give a tag to an image, which may take it from another; see judged
	Delete = "delete"
)

// Access is one thing that a request needs a right to. Empty Namespace: cluster-wide. Empty Name: all of them.
type Access struct{ Verb, Resource, Namespace, Name string }

var (
	errUnknown  = errors.New("there is nothing of that name to write to")
	errPath     = errors.New("the path has empty, relative or encoded parts that could be read in more than one way")
	errNoMethod = errors.New("method not allowed")
	errForm     = errors.New("the registry takes no forms: send Content-Type: application/octet-stream")
)

// namespaceName is what Kubernetes takes as a namespace.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// isRead tells whether a request changes nothing. Nobody may say by a header that a GET is something else: see New.
func isRead(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// needs lists all that a request needs a right to.
func needs(r *http.Request) ([]Access, error) {
	verb, err := verbOf(r.Method)
	if err != nil {
		return nil, err
	}
	parts, err := split(r.URL)
	if err != nil {
		return nil, err
	}
	switch parts[0] {
	case "v2":
		if isForm(r) {
			return nil, errForm
		}
		images, err := imageNeeds(verb, parts[1:], r)
		return append(images, reservedNeeds(images)...), err
	case "v1":
		return artifactNeeds(verb, parts[1:]), nil
	case "files":
		return fileNeeds(verb, parts[1:]), nil
	}
	return nil, errUnknown
}

func verbOf(method string) (string, error) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return Get, nil
	case http.MethodPost:
		return Create, nil
	case http.MethodPut, http.MethodPatch:
		return Update, nil
	case http.MethodDelete:
		return Delete, nil
	}
	return "", errNoMethod
}

// split gives the parts of the path, decoded; the last is empty if the path ends in a slash. Routers differ in what they make of encoded
// slashes, empty and relative parts: such a path is refused, so that what is judged here is what is served there.
func split(u *url.URL) ([]string, error) {
	parts := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	for i, part := range parts {
		plain, err := url.PathUnescape(part)
		if err != nil || plain == "." || plain == ".." || strings.ContainsAny(plain, "/\\\x00") || plain == "" && i < len(parts)-1 {
			return nil, errPath
		}
		parts[i] = plain
	}
	return parts, nil
}

// imageNeeds reads paths as the distribution specification has them, from their end: a repository's name may hold any word before it.
func imageNeeds(verb string, parts []string, r *http.Request) ([]Access, error) {
	n := len(parts)
	at := func(fromEnd int, words ...string) bool {
		return n > fromEnd && slices.Contains(words, parts[n-fromEnd])
	}
	repository := func(ending int) string { return strings.Join(parts[:n-ending], "/") }
	switch {
	case at(3, "blobs") && at(2, "uploads"): // an upload's start or its session; ending the session early takes nothing from anyone
		return uploadNeeds(verb, repository(3), r), nil
	case at(2, "blobs") && at(1, "uploads"):
		return uploadNeeds(verb, repository(2), r), nil
	case at(2, "manifests") && verb == Update && strings.Contains(parts[n-1], ":"): // by digest: it can replace nothing
		return []Access{{Create, Images, "", repository(2)}}, nil
	case at(2, "manifests", "blobs"), verb == Get && at(2, "tags", "referrers"):
		return []Access{{verb, Images, "", repository(2)}}, nil
	case verb == Get: // the catalog and the door itself
		return []Access{{Get, Images, "", ""}}, nil
	}
	return nil, errUnknown
}

// reservedNeeds: a right to images is none to the artifacts of all owners.
func reservedNeeds(images []Access) []Access {
	for _, a := range images {
		if strings.HasPrefix(a.Name, protocol.ReservedPrefix) {
			return []Access{{a.Verb, Artifacts, "", ""}}
		}
	}
	return nil
}

// isForm: the registry would read parameters from a form as well, such as where to mount a blob from, and keep all of it in memory.
func isForm(r *http.Request) bool {
	kind := strings.ToLower(r.Header.Get("Content-Type"))
	return strings.Contains(kind, "form-urlencoded") || strings.Contains(kind, "multipart/")
}

// uploadNeeds: a blob that is mounted from another repository is read there.
func uploadNeeds(verb, repository string, r *http.Request) []Access {
	if verb == Get {
		return []Access{{Get, Images, "", repository}}
	}
	all := []Access{{Create, Images, "", repository}}
	if from := r.URL.Query().Get("from"); from != "" {
		all = append(all, Access{Get, Images, "", from})
	}
	return all
}

// fileNeeds: artifacts can be downloaded at /files/{kind}/{owner}/{cluster}/{name} as well.
func fileNeeds(verb string, parts []string) []Access {
	if verb == Get && len(parts) >= 4 && slices.Contains(protocol.Kinds, protocol.Kind(parts[0])) {
		return []Access{ofCluster(Get, Artifacts, parts[1], parts[2])}
	}
	return []Access{{verb, Files, "", strings.Join(parts, "/")}}
}

// artifactNeeds: /v1/baremetalcluster/{owner}/{cluster}/{kind}/{name}, where kind may be status. What is not of that shape needs a right
// to everything.
func artifactNeeds(verb string, parts []string) []Access {
	parts = append(slices.Clone(parts), "", "", "")
	base, owner, cluster, kind := parts[0], parts[1], parts[2], parts[3]
	switch {
	case "/v1/"+base != protocol.Base || owner == "" || verb != Get && (cluster == "" || kind == ""):
		return append([]Access{{verb, Artifacts, "", ""}}, archiveNeeds(verb)...)
	case kind == "status":
		return []Access{ofCluster(verb, ArtifactStatus, owner, cluster)}
	case kind == string(protocol.ContainerImages):
		return append([]Access{ofCluster(verb, Artifacts, owner, cluster)}, archiveNeeds(verb)...)
	}
	return []Access{ofCluster(verb, Artifacts, owner, cluster)}
}

func ofCluster(verb, resource, owner, cluster string) Access {
	if !namespaceName.MatchString(owner) {
		owner = ""
	}
	return Access{verb, resource, owner, cluster}
}

// archiveNeeds: an archive's images appear in the registry under whatever names they have, for all clusters.
func archiveNeeds(verb string) []Access {
	switch verb {
	case Get:
		return nil
	case Delete:
		return []Access{{Delete, Images, "", ""}}
	}
	return []Access{{Create, Images, "", ""}, {Update, Images, "", ""}}
}
