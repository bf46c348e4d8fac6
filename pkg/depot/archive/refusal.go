package archive

import "fmt"

// Refusal says what is wrong with an archive.
type Refusal struct{ text string }

func (r *Refusal) Error() string {
	return "the archive is refused: " + r.text + ": nothing of it was kept"
}

// Refused marks the error as the archive's fault.
func (r *Refusal) Refused() {}

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }
