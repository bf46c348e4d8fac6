package cli

import "fmt"

// Exit codes. The help text lists them.
const (
	codeDone        = 0
	codeFailed      = 1
	codeUsage       = 2
	codeNotYet      = 3
	codeTimeout     = 124 // like timeout(1)
	codeInterrupted = 130 // like a shell after Ctrl-C
)

// codedError is an error with an exit code other than codeFailed.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

func usageError(err error) error { return &codedError{codeUsage, err} }

func exitf(code int, format string, args ...any) error {
	return &codedError{code, fmt.Errorf(format, args...)}
}
