package protocol

// Header is the header of a request, such as an http.Header. This package does not import net/http.
type Header interface {
	Get(name string) string
}

// IsCreateOnly reports whether a request may only create the resource that it names and must not
// replace it: it has the header If-None-Match: * (RFC 9110, 13.1.2).
func IsCreateOnly(h Header) bool { return h.Get("If-None-Match") == "*" }

// Exists is the text of the answer 412 to a create-only request.
const Exists = "another client has stored different content there, and this request may not replace it: use another name, or an account that may update"
