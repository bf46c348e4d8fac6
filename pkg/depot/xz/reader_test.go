package xz

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"runtime"
	"testing"

	"github.com/ulikunitz/xz"
)

// packed returns an xz file with a block for every 1000 bytes.
func packed(t testing.TB, content []byte, check byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := xz.WriterConfig{BlockSize: 1000, CheckSum: check, NoCheckSum: check == 0}.NewWriter(&b)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readAll(file []byte) ([]byte, error) {
	r, err := NewReader(bytes.NewReader(file), 1<<20)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func TestRead(t *testing.T) {
	content := bytes.Repeat([]byte("some text, "), 1234)
	for _, check := range []byte{0, xz.CRC32, xz.CRC64, xz.SHA256} {
		file := packed(t, content, check)
		if got, err := readAll(file); err != nil || !bytes.Equal(got, content) {
			t.Errorf("check %d: %d bytes, %v; want %d", check, len(got), err, len(content))
		}
		for name, bad := range map[string][]byte{"two streams": append(file[:len(file):len(file)], file...), "cut off": file[:len(file)-1], "in its index": file[:len(file)-20], "in a block": file[:len(file)/2]} {
			if got, err := readAll(bad); err == nil {
				t.Errorf("check %d: %s: %d bytes and no error", check, name, len(got))
			}
		}
	}
}

// A block that asks for 4 GiB gets the memory that the caller allows.
func TestMemoryIsBounded(t *testing.T) {
	content := bytes.Repeat([]byte("a"), 500)
	file := packed(t, content, xz.CRC32)
	block := file[streamHeader : streamHeader+(int(file[streamHeader])+1)*4]
	block[4] = 40 // the dictionary size as xz encodes it: 4 GiB
	binary.LittleEndian.PutUint32(block[len(block)-4:], crc32.ChecksumIEEE(block[:len(block)-4]))
	if size, err := dictionarySize(block); err != nil || size != 1<<32-1 {
		t.Fatalf("the header asks for %d bytes, %v", size, err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got, err := readAll(file); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
		t.Errorf("took %d bytes of memory", took)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(packed(f, bytes.Repeat([]byte("text"), 600), xz.CRC64))
	f.Fuzz(func(_ *testing.T, file []byte) { _, _ = readAll(file) })
}
