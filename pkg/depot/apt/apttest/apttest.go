// Package apttest makes Debian packages for tests, without dpkg. Only tests may import it.
package apttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"testing"
)

// Package returns a package of the given name, version and architecture that contains no files.
// fields are further lines of its control file, each with its newline.
func Package(t testing.TB, name, version, architecture, fields string) []byte {
	t.Helper()
	control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: Nobody <nobody@example.org>\nDescription: nothing\n at all\n%s",
		name, version, architecture, fields)
	return Archive(t, "debian-binary", "2.0\n", "control.tar.gz", string(Control(t, control)), "data.tar", "")
}

// Archive returns an ar archive of members, which are given as name, content, name, content and so
// on.
func Archive(t testing.TB, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for i := 0; i < len(members); i += 2 {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n%s", members[i], 0, 0, 0, "100644", len(members[i+1]), members[i+1])
		if len(members[i+1])%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// Control returns a control.tar.gz whose control file has the content text.
func Control(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	files := tar.NewWriter(zip)
	err := files.WriteHeader(&tar.Header{Name: "./control", Mode: 0o644, Size: int64(len(text))})
	if err == nil {
		_, err = files.Write([]byte(text))
	}
	if err == nil {
		err = files.Close()
	}
	if err == nil {
		err = zip.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
