package depot_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/auth"
)

// roles is an auth.Authorizer for which a token is the name of its user. User writer may do
// everything, all other users may only create.
type roles struct{}

func (roles) Authenticate(_ context.Context, token string) (auth.User, error) {
	return auth.User{Name: token}, nil
}

func (roles) Authorize(_ context.Context, user auth.User, access auth.Access) (bool, error) {
	return user.Name == "writer" || access.Verb == auth.Create, nil
}

// meanwhile is a request body. It calls the function do before its first byte is read.
type meanwhile struct {
	io.Reader
	once sync.Once
	do   func()
}

func (m *meanwhile) Read(p []byte) (int, error) {
	m.once.Do(m.do)
	return m.Reader.Read(p)
}

// A user who may only create could start a request while a name is free, and send the body after
// another user has stored something under that name. The request must then replace nothing.
func TestSeederReplacesNothingThatCameMeanwhile(t *testing.T) {
	d, err := depot.New(t.TempDir(), depot.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	server := auth.New(d, auth.WithAuthorizer(roles{}), auth.WithLogger(slog.New(slog.DiscardHandler)))
	do := func(user, method, path string, body io.Reader, length int) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, body)
		r.ContentLength = int64(length)
		r.Header = http.Header{"Authorization": {"Bearer " + user}, "Content-Type": {v1.MediaTypeImageManifest}, "Accept": {"*/*", v1.MediaTypeImageManifest}}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w
	}
	session := do("writer", "POST", "/v2/app/blobs/uploads/", nil, 0).Header().Get("Location")
	if got := do("writer", "PUT", session+"&digest="+digest.FromString("{}").String(), strings.NewReader("{}"), 2); got.Code != http.StatusCreated {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	for path, content := range map[string][2]string{
		"/files/kubelet":        {"good", "evil"},
		"/v2/app/manifests/new": {manifestOf(`,"annotations":{"is":"good"}`), manifestOf(`,"annotations":{"is":"evil"}`)},
	} {
		t.Run(path, func(t *testing.T) {
			good, evil := content[0], content[1]
			lateAt := func(path, sent string) io.Reader {
				return &meanwhile{Reader: strings.NewReader(sent), do: func() {
					if got := do("writer", "PUT", path, strings.NewReader(good), len(good)); got.Code != http.StatusCreated {
						t.Errorf("writer: %d %s", got.Code, got.Body)
					}
				}}
			}
			if got := do("seeder", "PUT", path, lateAt(path, evil), len(evil)); got.Code != http.StatusPreconditionFailed {
				t.Errorf("seeder: %d %s; want %d", got.Code, got.Body, http.StatusPreconditionFailed)
			}
			// Two runs that seed for two clusters may upload the same content at the same time.
			// Both uploads must succeed.
			if got := do("seeder", "PUT", path+"2", lateAt(path+"2", good), len(good)); got.Code != http.StatusCreated {
				t.Errorf("seeder, with the same: %d %s", got.Code, got.Body)
			}
			if got := do("writer", "GET", path, nil, 0); got.Body.String() != good {
				t.Errorf("GET %s = %d %s", path, got.Code, got.Body)
			}
			if got := do("writer", "PUT", path, strings.NewReader(evil), len(evil)); got.Code != http.StatusCreated {
				t.Errorf("the writer cannot replace: %d %s", got.Code, got.Body)
			}
		})
	}
}
