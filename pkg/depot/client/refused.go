package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	registry "github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Refused is the error if the account of the client does not have a right. Text is the depot's
// answer, with the command that grants the right. Other requests of the same kind will fail too.
type Refused struct {
	Text string
	err  error
}

func (r *Refused) Error() string { return "the depot refuses: " + r.Text }

func (r *Refused) Unwrap() error { return r.err }

// explain adds what to do to an error answer of the depot. It returns answers of other servers,
// such as upstream, unchanged.
func (d *Depot) explain(err error) error {
	var answer *registry.Error
	if !errors.As(err, &answer) || answer.Request == nil || answer.Request.URL.Host != d.base.Host {
		return err
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		return &Refused{message(answer) + "; the depot requires a token: kubectl create token ACCOUNT --audience=depot.bpa.akraino.org", err}
	case http.StatusForbidden:
		if text := message(answer); strings.Contains(text, "kubectl create ") {
			return &Refused{text, err}
		}
		return &Refused{message(answer) + "; the token's account does not have the right: bind it to the ClusterRole bpa-depot-writer", err}
	case http.StatusInsufficientStorage, http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w; free space in the depot, or raise its limits", err)
	}
	return err
}

// message returns the text of the depot's answer, without its address and codes.
func message(answer *registry.Error) string {
	for _, e := range answer.Errors {
		if e.Message != "" {
			return e.Message
		}
	}
	if _, text, ok := strings.Cut(answer.Error(), http.StatusText(answer.StatusCode)+": "); ok { // /files answers with plain text
		return strings.TrimSpace(text)
	}
	return answer.Error()
}
