package protocol

// Header is the header of a request, such as an http.Header: this package does not import net/http.
type Header interface {
	Get(name string) string
}

// IsCreateOnly reports whether a request may only create what it names, and never replace it: If-None-Match: * (RFC 9110, 13.1.2).
func IsCreateOnly(h Header) bool { return h.Get("If-None-Match") == "*" }

// Exists is the text of the answer 412 to a create-only request.
const Exists = "somebody has put something else there meanwhile, and this request may not replace it"
