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

// Group is the API group of the resources below. Kubernetes has no such kinds, but its roles may
// name them.
const Group = "depot.bpa.akraino.org"

// Resources of Group.
const (
	// Images are the images of the registry at /v2. They are cluster-wide, because all clusters
	// pull the same images. Resource names are repositories, such as "coredns/coredns".
	Images = "images"
	// Artifacts are the uploads at /v1. They belong to the namespace with the name of their owner.
	// If that name is not a valid namespace name, they are cluster-wide. Resource names are
	// clusters.
	Artifacts = "artifacts"
	// ArtifactStatus is the installation status at /v1. It is a subresource, so that an account
	// that reads the status needs no right to artifacts.
	ArtifactStatus = "artifacts/status"
	// Files are the plain files at /files. They are cluster-wide. Resource names are paths without
	// a leading slash.
	Files = "files"
	// Storage is the storage of the whole depot: get reads what it holds, and update frees space. It
	// is cluster-wide and has no names.
	Storage = "storage"
)

// Verbs of the resources.
const (
	Get    = "get"
	Create = "create"
	Update = "update" // for a PUT of a tag or file; if it is new and no OS package, create is enough: see Handler.authorize
	Delete = "delete"
)

// Access is one right that a request needs. An empty Namespace means cluster-wide, an empty Name
// means all names.
type Access struct{ Verb, Resource, Namespace, Name string }

var (
	errUnknown  = errors.New("the depot does not support this method at this path: check the URL")
	errPath     = errors.New("the path has empty, relative or encoded parts that could be read in more than one way: send a plain path")
	errNoMethod = errors.New("method not allowed")
	errForm     = errors.New("the registry does not accept forms: send Content-Type: application/octet-stream")
)

// namespaceName matches the names that Kubernetes accepts for a namespace.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// isRead reports whether a method changes nothing. The header X-HTTP-Method-Override could replace
// the method later, so Handler and ReadOnly remove it.
func isRead(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// needs returns all rights that a request needs. Its errors are errUnknown, errPath, errNoMethod
// and errForm.
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
		if maintained, ok := storageNeeds(verb, parts[1:], r); ok {
			return maintained, nil
		}
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

// split returns the decoded parts of the path; the last one is empty if the path ends with a slash.
// It refuses encoded slashes, and empty and relative parts, because routers differ in how they read
// them. So the path that is authorized here is the path that is served.
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

// imageNeeds returns the rights for a path of the distribution specification. It reads the path
// from its end, because the name of a repository may contain any word.
func imageNeeds(verb string, parts []string, r *http.Request) ([]Access, error) {
	n := len(parts)
	at := func(fromEnd int, words ...string) bool {
		return n > fromEnd && slices.Contains(words, parts[n-fromEnd])
	}
	repository := func(ending int) string { return strings.Join(parts[:n-ending], "/") }
	switch {
	case at(3, "blobs") && at(2, "uploads"): // upload session: cancelling one does not need the right to delete
		return uploadNeeds(verb, repository(3), r), nil
	case at(2, "blobs") && at(1, "uploads"):
		return uploadNeeds(verb, repository(2), r), nil
	case at(2, "manifests") && verb == Update && strings.Contains(parts[n-1], ":"): // a push by digest replaces nothing, so create is enough
		return []Access{{Create, Images, "", repository(2)}}, nil
	case at(2, "manifests", "blobs"), verb == Get && at(2, "tags", "referrers"):
		return []Access{{verb, Images, "", repository(2)}}, nil
	case verb == Get: // the catalog and /v2/
		return []Access{{Get, Images, "", ""}}, nil
	}
	return nil, errUnknown
}

// reservedNeeds returns the right to all artifacts if a request names a reserved repository.
// Reserved repositories hold the artifacts of all owners, so a right to images is not enough.
func reservedNeeds(images []Access) []Access {
	for _, a := range images {
		if strings.HasPrefix(a.Name, protocol.ReservedPrefix) {
			return []Access{{a.Verb, Artifacts, "", ""}}
		}
	}
	return nil
}

// isForm reports whether the request's body is a form. Forms are refused for two reasons. The
// access check reads parameters from the URL only, but the registry library also reads them from a
// form: the parameter "from" of a form could name a repository that the user has no right to read.
// Also, the library would keep the whole form in memory.
func isForm(r *http.Request) bool {
	kind := strings.ToLower(r.Header.Get("Content-Type"))
	return strings.Contains(kind, "form-urlencoded") || strings.Contains(kind, "multipart/")
}

// uploadNeeds returns the rights for an upload of a blob. A client may name another repository in
// the parameter "from": the registry then takes the blob from there, and the client does not send
// it. Such a request also needs the right to read the other repository.
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

// fileNeeds returns the right for a path below /files. A new package needs the right to update. Artifacts can also be downloaded there, at
// /files/{kind}/{owner}/{cluster}/{name}.
func fileNeeds(verb string, parts []string) []Access {
	if verb == Get && len(parts) >= 4 && slices.Contains(protocol.Kinds, protocol.Kind(parts[0])) {
		return []Access{ofCluster(Get, Artifacts, parts[1], parts[2])}
	}
	name := strings.Join(parts, "/")
	if verb == Create && isPackage(name) {
		verb = Update
	}
	return []Access{{verb, Files, "", name}}
}

// isPackage reports whether a plain file is in the folder of OS packages. Nodes install the highest version that
// they find there, so a new file replaces the packages of all clusters.
func isPackage(name string) bool { return strings.HasPrefix(name+"/", protocol.AptFolder+"/") }

// storageNeeds returns the rights for the maintenance of the depot; ok is false for other paths. A
// collection that frees images also needs the right to delete all images.
func storageNeeds(verb string, parts []string, r *http.Request) (all []Access, ok bool) {
	path := "/v1/" + strings.Join(parts, "/")
	switch {
	case verb == Get && (path == protocol.UsagePath || path == protocol.CollectionPath):
		return []Access{{Get, Storage, "", ""}}, true
	case verb == Create && path == protocol.CollectionPath:
		all = []Access{{Update, Storage, "", ""}}
		if r.URL.Query().Has(protocol.ParamUnlisted) {
			all = append(all, Access{Delete, Images, "", ""})
		}
		return all, true
	}
	return nil, false
}

// artifactNeeds returns the rights for a path of the form
// /v1/baremetalcluster/{owner}/{cluster}/{kind}/{name}, where kind may also be status. Other paths
// need the rights to all artifacts and images.
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

// ofCluster returns the right to a resource of one cluster. It is cluster-wide if the owner's name
// is not a valid namespace name.
func ofCluster(verb, resource, owner, cluster string) Access {
	if !namespaceName.MatchString(owner) {
		owner = ""
	}
	return Access{verb, resource, owner, cluster}
}

// archiveNeeds returns the additional rights that a change of an archive of images needs. They are
// rights to all images, because the archive's images appear in the registry under any name, for all
// clusters. A read needs no additional right.
func archiveNeeds(verb string) []Access {
	switch verb {
	case Get:
		return nil
	case Delete:
		return []Access{{Delete, Images, "", ""}}
	}
	return []Access{{Create, Images, "", ""}, {Update, Images, "", ""}}
}
