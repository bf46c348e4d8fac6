package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// refuse answers with a text; a registry client gets it in the form that it shows to its user.
func refuse(w http.ResponseWriter, r *http.Request, status int, text string) {
	if !strings.HasPrefix(r.URL.Path, pingPath) {
		http.Error(w, text, status)
		return
	}
	type one struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string][]one{"errors": {{codes[status], text}}})
}

// codes are the distribution specification's; those of its list that come nearest.
var codes = map[int]string{
	http.StatusBadRequest:         "NAME_INVALID",
	http.StatusUnauthorized:       "UNAUTHORIZED",
	http.StatusForbidden:          "DENIED",
	http.StatusNotFound:           "NAME_UNKNOWN",
	http.StatusMethodNotAllowed:   "UNSUPPORTED",
	http.StatusServiceUnavailable: "UNAVAILABLE",
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, errPath):
		return http.StatusBadRequest
	case errors.Is(err, errNoMethod):
		return http.StatusMethodNotAllowed
	}
	return http.StatusNotFound
}

// denial says what is missing, and the command that would give it.
func denial(user User, a Access) string {
	what := a.Resource + "." + Group
	if a.Name != "" {
		what += fmt.Sprintf(" %q", a.Name)
	}
	role, binding, where := "bpa-depot-writer", "clusterrolebinding", ""
	if a.Verb == Get {
		role = "bpa-depot-reader"
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

// quote makes a word of a shell command: somebody will paste it, and user names come from elsewhere.
func quote(word string) string {
	if harmless.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// shorten keeps texts from elsewhere from filling an answer.
func shorten(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
