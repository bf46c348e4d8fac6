package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// refuse answers with a status and a text, in the error format of the requested API, so that
// clients show the text to their users.
func refuse(w http.ResponseWriter, r *http.Request, status int, text string) {
	switch {
	case strings.HasPrefix(r.URL.Path, pingPath), r.URL.Path == tokenPath:
		type one struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		}
		answer(w, status, "application/json", map[string][]one{"errors": {{codes[status], text}}})
	case strings.HasPrefix(r.URL.Path, "/v1/"): // RFC 9457
		answer(w, status, "application/problem+json", map[string]any{"title": http.StatusText(status), "status": status, "detail": text})
	default:
		http.Error(w, text, status)
	}
}

func answer(w http.ResponseWriter, status int, kind string, body any) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// codes maps HTTP statuses to the closest error codes of the distribution specification.
var codes = map[int]string{
	http.StatusBadRequest:           "NAME_INVALID",
	http.StatusUnauthorized:         "UNAUTHORIZED",
	http.StatusForbidden:            "DENIED",
	http.StatusNotFound:             "NAME_UNKNOWN",
	http.StatusMethodNotAllowed:     "UNSUPPORTED",
	http.StatusUnsupportedMediaType: "UNSUPPORTED",
	http.StatusServiceUnavailable:   "UNAVAILABLE",
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, errPath):
		return http.StatusBadRequest
	case errors.Is(err, errForm):
		return http.StatusUnsupportedMediaType
	case errors.Is(err, errNoMethod):
		return http.StatusMethodNotAllowed
	}
	return http.StatusNotFound
}

// denial returns the text of the answer if a right is missing. It contains the command that grants
// the right.
func denial(user User, a Access) string {
	resource, sub, _ := strings.Cut(a.Resource, "/")
	what := resource + "." + Group
	if sub != "" {
		what += "/" + sub
	}
	if a.Name != "" {
		what += fmt.Sprintf(" %q", a.Name)
	}
	role, binding, where := "bpa-depot-writer", "clusterrolebinding", ""
	switch {
	case a.Resource == Storage:
		role = "bpa-depot-maintainer"
	case a.Verb == Get:
		role = "bpa-depot-reader"
	case a.Verb == Create && (a.Resource == Images || a.Resource == Files): // a role without update is enough
		role = "bpa-depot-seeder"
	}
	if a.Namespace != "" {
		what += " in namespace " + a.Namespace
		binding, where = "rolebinding", " -n "+a.Namespace
	}
	return fmt.Sprintf("%s may not %s %s. To allow it: kubectl create %s %s%s --clusterrole=%s %s",
		shorten(user.Name), a.Verb, what, binding, bindingName(user, role), where, role, subject(user))
}

func subject(user User) string {
	if account, ok := strings.CutPrefix(user.Name, "system:serviceaccount:"); ok {
		return "--serviceaccount=" + quote(account)
	}
	return "--user=" + quote(user.Name)
}

var notInNames = regexp.MustCompile(`[^a-z0-9.]+`)

func bindingName(user User, role string) string {
	_, last, _ := strings.Cut(user.Name, "system:serviceaccount:")
	if last == "" {
		last = user.Name
	}
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(shorten(last)), "-"), "-.") + "-" + role
}

var harmless = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_-]+$`)

// quote quotes a word for a shell: users paste the command, and user names are not trusted.
func quote(word string) string {
	if harmless.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// shorten cuts a text that is not the depot's own, so that an answer stays short.
func shorten(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
