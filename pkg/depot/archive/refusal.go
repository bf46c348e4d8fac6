package archive

import "fmt"

// Refusal is the error for an archive that cannot be imported.
type Refusal struct{ text string }

func (r *Refusal) Error() string {
	return "the archive is refused: " + r.text + ": nothing of it was kept"
}

// Refused marks the error as caused by the archive.
func (r *Refusal) Refused() {}

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }
