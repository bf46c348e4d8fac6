package contract

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

const (
	// mostPlainRecord is the size, in bytes, up to which a record is stored as plain JSON, which a person can read
	// and earlier releases too.
	mostPlainRecord = 256 << 10
	// mostRecordJSON limits the JSON of a compressed record, in bytes: a ConfigMap of 1 MiB must not fill the
	// memory of the controller.
	mostRecordJSON = 64 << 20
	// gzipRecord begins the value of a record that is stored as base64 of its compressed JSON.
	gzipRecord = "gzip:"
)

// Encode returns the record as the value of KeySoftware. A record that is long is compressed: the nodes of a
// large cluster have the same packages, and a ConfigMap has at most 1 MiB.
func (r SoftwareRecord) Encode() (string, error) {
	text, err := json.Marshal(r)
	if err != nil || len(text) <= mostPlainRecord {
		return string(text), err
	}
	if len(text) > mostRecordJSON {
		return "", fmt.Errorf("the record of the software has %d bytes of JSON, and may have %d", len(text), mostRecordJSON)
	}
	var packed strings.Builder
	packed.WriteString(gzipRecord)
	encoder := base64.NewEncoder(base64.StdEncoding, &packed)
	compressor := gzip.NewWriter(encoder)
	for _, write := range []func() error{
		func() error { _, err := compressor.Write(text); return err }, compressor.Close, encoder.Close,
	} {
		if err := write(); err != nil {
			return "", err
		}
	}
	return packed.String(), nil
}

// ParseSoftwareRecord reads the value of KeySoftware; an empty one is an empty record.
func ParseSoftwareRecord(value string) (r SoftwareRecord, err error) {
	if value == "" {
		return r, nil
	}
	packed, compressed := strings.CutPrefix(value, gzipRecord)
	if !compressed {
		err = json.Unmarshal([]byte(value), &r)
		return r, err
	}
	reader, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	if err != nil {
		return r, err
	}
	var text bytes.Buffer
	n, err := io.Copy(&text, io.LimitReader(reader, mostRecordJSON+1))
	switch {
	case err != nil:
		return r, err
	case n > mostRecordJSON:
		return r, fmt.Errorf("it has more than %d bytes of JSON", mostRecordJSON)
	}
	err = json.Unmarshal(text.Bytes(), &r)
	return r, err
}
