package rest

import (
	"encoding/json"
	"net/http"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/status"
)

func (a *api) clusterStatus(w http.ResponseWriter, r *http.Request) {
	owner, cluster, err := scope(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	c, err := a.status.Cluster(r.Context(), owner, cluster)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	answer(w, http.StatusOK, c)
}

func (a *api) nodeStatus(w http.ResponseWriter, r *http.Request) {
	owner, cluster, node, err := nodeOf(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	n, err := a.status.Get(r.Context(), owner, cluster, node)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	answer(w, http.StatusOK, n)
}

func (a *api) putStatus(w http.ResponseWriter, r *http.Request) {
	owner, cluster, node, err := nodeOf(r)
	var n status.Node
	if err == nil {
		n, err = readReport(r, node)
	}
	if err == nil {
		n, err = a.status.Put(r.Context(), owner, cluster, n)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	answer(w, http.StatusOK, n)
}

func readReport(r *http.Request, node string) (status.Node, error) {
	body, err := readSmall(r.Body)
	if err != nil {
		return status.Node{}, err
	}
	var n status.Node
	if err := json.Unmarshal(body, &n); err != nil {
		return n, unreadable("the report is not a valid report in JSON: %v", err)
	}
	if n.Node != "" && n.Node != node {
		return n, bad("the report has node %q, but the path has %q: make them agree", n.Node, node)
	}
	n.Node = node
	if n.Packages == nil {
		n.Packages = []status.Package{}
	}
	if err := status.Check(n); err != nil {
		return n, bad("%v", err)
	}
	return n, nil
}

func (a *api) deleteStatus(w http.ResponseWriter, r *http.Request) {
	owner, cluster, node, err := nodeOf(r)
	if err == nil {
		err = a.status.Delete(r.Context(), owner, cluster, node)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func nodeOf(r *http.Request) (owner, cluster, node string, err error) {
	if owner, cluster, err = scope(r); err != nil {
		return "", "", "", err
	}
	node = r.PathValue("node")
	if err := protocol.CheckNode(node); err != nil {
		return "", "", "", bad("%v", err)
	}
	return owner, cluster, node, nil
}
