package apt

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// generation is one state of a system's indexes. The index files are in the repository's cache
// folder, named by their SHA-256.
type generation struct {
	// Changed is the time of the folder's last change, in Unix nanoseconds.
	Changed int64     `json:"changedUnixNano"`
	Index   indexFile `json:"index"`
	Packed  indexFile `json:"packed"`
	Release []byte    `json:"release"`
	// Until is when the next generation replaced this one. Zero means that this one is served now.
	Until time.Time `json:"until,omitzero"`
}

// indexFile describes an index file, which is named by its SHA-256 in hexadecimal. Size is in
// bytes.
type indexFile struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// These constants limit the generations that are kept. A generation is kept for keepFor after the
// next one has replaced it. In this time, a node that has read the Release of the old generation
// can still read the indexes that this Release names. The newest keepNewest generations are always
// kept. keepAtMost limits the number of generations, and keepBytes the size of their indexes in
// bytes.
const (
	keepFor    = 15 * time.Minute
	keepNewest = 3
	keepAtMost = 500
	keepBytes  = 256 << 20
)

// generate writes the indexes of the records, and adds them to the history.
func (r *repository) generate(changed int64) error {
	kept, problems := r.entries()
	r.logProblems(problems)
	next := generation{Changed: changed}
	var err error
	if next.Index, next.Packed, err = r.writeIndexes(kept); err != nil {
		return err
	}
	next.Release = r.release(kept, next)
	now := time.Now()
	if len(r.history) > 0 {
		r.history[0].Until = now
	}
	r.history = prune(append([]generation{next}, r.history...), now)
	r.stale = false
	r.save()
	r.tidy()
	return nil
}

// prune removes the oldest generations from history. It returns the others, because nodes may still
// be reading them.
func prune(history []generation, now time.Time) []generation {
	var size int64
	for i, g := range history {
		size += g.Index.Size + g.Packed.Size
		if i >= keepNewest && (i >= keepAtMost || size > keepBytes || now.Sub(g.Until) > keepFor) {
			return history[:i]
		}
	}
	return history
}

// writeIndexes writes Packages and Packages.gz.
func (r *repository) writeIndexes(kept []entry) (plain, packed indexFile, err error) {
	plainFile, err := r.newFile()
	if err != nil {
		return plain, packed, err
	}
	defer plainFile.discard()
	packedFile, err := r.newFile()
	if err != nil {
		return plain, packed, err
	}
	defer packedFile.discard()
	zip := gzip.NewWriter(packedFile) // the header has no name and no time, so the same content gives the same bytes
	both := bufio.NewWriter(io.MultiWriter(plainFile, zip))
	for _, e := range kept {
		if _, err := both.WriteString(e.Control.stanza(e.path, e.Stamp.Size, e.SHA256)); err != nil {
			return plain, packed, err
		}
	}
	if err := errors.Join(both.Flush(), zip.Close()); err != nil {
		return plain, packed, err
	}
	if plain, err = plainFile.keep(); err != nil {
		return plain, packed, err
	}
	packed, err = packedFile.keep()
	return plain, packed, err
}

// release returns the file Release, which apt reads first, without the date until which it is valid.
// Its date is that of the folder's last change, so that it does not depend on the time of the request.
func (r *repository) release(kept []entry, g generation) []byte {
	architectures := map[string]bool{}
	for _, e := range kept {
		architectures[e.Control.Architecture] = true
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "Origin: bpa-depot\nLabel: bpa-depot\nSuite: %s\n", r.system)
	if len(architectures) > 0 {
		fmt.Fprintf(&b, "Architectures: %s\n", strings.Join(slices.Sorted(maps.Keys(architectures)), " "))
	}
	fmt.Fprintf(&b, "Date: %s\n", time.Unix(0, g.Changed).UTC().Format(releaseDate))
	fmt.Fprintf(&b, "Acquire-By-Hash: yes\nDescription: packages of %s in the depot\nSHA256:\n", r.system)
	fmt.Fprintf(&b, " %s %d %s\n %s %d %s\n", g.Index.SHA256, g.Index.Size, indexName, g.Packed.SHA256, g.Packed.Size, packedName)
	return b.Bytes()
}
