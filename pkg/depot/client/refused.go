package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	registry "github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Refused is the depot's answer to an account that may not do something, with what would allow it. Whatever else the account sends in that way
// meets it too.
type Refused struct {
	Text string
	err  error
}

func (r *Refused) Error() string { return "the depot refuses: " + r.Text }

func (r *Refused) Unwrap() error { return r.err }

// explain says what to do where the depot refuses. What another server answers, such as upstream, is its own.
func (d *Depot) explain(err error) error {
	var answer *registry.Error
	if !errors.As(err, &answer) || answer.Request == nil || answer.Request.URL.Host != d.base.Host {
		return err
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		return &Refused{words(answer) + "; it wants a token: kubectl create token ACCOUNT --audience=depot.bpa.akraino.org", err}
	case http.StatusForbidden:
		if text := words(answer); strings.Contains(text, "kubectl create ") {
			return &Refused{text, err}
		}
		return &Refused{words(answer) + "; the token's account may not do that: bind it to the ClusterRole bpa-depot-writer", err}
	case http.StatusInsufficientStorage, http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w; make room in the depot", err)
	}
	return err
}

// words are the depot's own, without its address and codes.
func words(answer *registry.Error) string {
	for _, e := range answer.Errors {
		if e.Message != "" {
			return e.Message
		}
	}
	if _, text, ok := strings.Cut(answer.Error(), http.StatusText(answer.StatusCode)+": "); ok { // at /files it answers with plain text
		return strings.TrimSpace(text)
	}
	return answer.Error()
}
