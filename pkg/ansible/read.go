package ansible

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds the memory for one event, in bytes. Results of tasks that read big files or list
// packages have megabytes.
const maxLine = 16 << 20

// Read reads the callback's output until its end and calls see once for each line. A line that is
// not an event becomes a Text with the redacted line. A line longer than maxLine becomes a Text
// that says only how long it is.
func Read(r io.Reader, see func(Event)) error {
	return read(r, maxLine, see)
}

func read(r io.Reader, limit int, see func(Event)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var plain Lines
	for {
		line, size, err := readLine(in, limit)
		switch {
		case size > limit:
			see(Event{Kind: Text, Message: fmt.Sprintf("(an event of %d bytes is not shown)", size)})
		case len(bytes.TrimSpace(line)) > 0:
			see(eventOrText(line, &plain))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
	}
}

func eventOrText(line []byte, plain *Lines) Event {
	if e, err := Parse(line); err == nil {
		return e
	}
	shown, _ := plain.Redact(string(line))
	return Event{Kind: Text, Message: head(shown, maxMessage)}
}

// readLine reads a line and returns it without its line end, and its size in bytes. If the size is
// above the limit, the returned line is nil.
func readLine(in *bufio.Reader, limit int) (line []byte, size int, err error) {
	for {
		part, err := in.ReadSlice('\n')
		size += len(part)
		if size <= limit {
			line = append(line, part...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), size, err
		}
	}
}
