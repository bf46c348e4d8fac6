package rest

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// list writes the records one by one, so that memory does not depend on their number. Damaged
// records come last, in a field of their own.
func (a *api) list(w http.ResponseWriter, r *http.Request) {
	owner, cluster, kind := r.PathValue("owner"), r.PathValue("cluster"), protocol.Kind(r.PathValue("kind"))
	for _, s := range []string{owner, cluster} {
		if err := protocol.CheckScope(s, s); s != "" && err != nil {
			a.fail(w, r, bad("%v", err))
			return
		}
	}
	if kind != "" {
		if err := (protocol.Ref{Owner: owner, Cluster: cluster, Kind: kind, Name: "any"}).Validate(); err != nil {
			a.fail(w, r, bad("%v", err))
			return
		}
	}
	l := &lister{w: w}
	if err := a.uploads.List(r.Context(), owner, cluster, kind, l.add, l.hurt); err != nil {
		if !l.begun {
			a.fail(w, r, err)
			return
		}
		a.log.Error("a list could not be sent to its end", "path", r.URL.Path, "error", err)
		panic(http.ErrAbortHandler) // closes the connection, so that the client notices that the list is incomplete
	}
	_ = l.end() // the client may be gone
}

// listPackages answers with the list of all packages.
func (a *api) listPackages(w http.ResponseWriter, r *http.Request) {
	if err := a.packages.Serve(w, r); err != nil && r.Context().Err() == nil { // else the client is gone
		a.fail(w, r, err)
	}
}

type lister struct {
	w       http.ResponseWriter
	begun   bool
	damaged []protocol.DamagedRecord
}

// maxDamaged is the largest number of damaged records in an answer. The log has all of them.
const maxDamaged = 1000

func (l *lister) hurt(ref protocol.Ref, err error) error {
	if len(l.damaged) < maxDamaged {
		l.damaged = append(l.damaged, protocol.DamagedRecord{Owner: ref.Owner, ClusterName: ref.Cluster, Kind: ref.Kind, ImageName: ref.Name, Detail: err.Error()})
	}
	return nil
}

func (l *lister) add(rec protocol.Record) error {
	separator := ",\n"
	if !l.begun {
		separator = "\n"
		if err := l.begin(); err != nil {
			return err
		}
	}
	body, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(l.w, separator); err != nil {
		return err
	}
	_, err = l.w.Write(body)
	return err
}

func (l *lister) begin() error {
	l.begun = true
	l.w.Header().Set("Content-Type", "application/json")
	_, err := io.WriteString(l.w, `{"images": [`)
	return err
}

func (l *lister) end() error {
	if !l.begun {
		if err := l.begin(); err != nil {
			return err
		}
	}
	end := "]}\n"
	if len(l.damaged) > 0 {
		body, err := json.Marshal(l.damaged)
		if err != nil {
			return err
		}
		end = "],\n\"damaged\": " + string(body) + "}\n"
	}
	_, err := io.WriteString(l.w, end)
	return err
}
