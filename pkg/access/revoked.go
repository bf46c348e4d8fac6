package access

import (
	"cmp"
	"strings"
)

// Revoked returns the value of contract.AnnotationRevoked: the users of the kubeconfig, of the stored key
// and of the health checks are the only ones with rights, and run was the newest run. Each can be empty.
func Revoked(kubeconfig, key, health, run string) string {
	fields := []string{kubeconfig, key, health, run}
	for i := range fields {
		fields[i] = cmp.Or(fields[i], "-")
	}
	return strings.Join(fields, " ")
}

// RevokedFor reports whether the value says that the rights of all kubeconfigs before that of this user
// have been deleted.
func RevokedFor(value, kubeconfig string) bool {
	user, _, _ := strings.Cut(value, " ")
	return user == kubeconfig
}

// RevokedAfter returns the run that was the newest one when the value was made.
func RevokedAfter(value string) string {
	if fields := strings.Fields(value); len(fields) == 4 {
		return fields[3]
	}
	return ""
}

// SameButKey reports whether two values differ at most in the user of the stored key.
func SameButKey(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return len(x) == 4 && len(y) == 4 && x[0] == y[0] && x[2] == y[2] && x[3] == y[3]
}

// RevokedUsers returns the users that had rights according to the value.
func RevokedUsers(value string) (users []User) {
	for _, name := range strings.Fields(value) {
		if u, ok := ParseUser(name); ok {
			users = append(users, u)
		}
	}
	return users
}
