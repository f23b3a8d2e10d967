package kube

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"testing"
	"testing/iotest"
)

func FuzzStream(f *testing.F) {
	f.Add([]byte(frame("a") + frame("b")))
	f.Add([]byte("{\n\"type\": \"ADDED\",\n\"object\": {}}\n\n" + frame("b")))
	f.Add([]byte(`{"type":"ADDED"` + "\n" + frame("b")))
	f.Fuzz(func(t *testing.T, body []byte) {
		read := func(r io.Reader) (frames []string, end string) {
			s := &Stream{body: &meteredBody{ReadCloser: io.NopCloser(r)}, ctx: context.Background(), reader: bufio.NewReaderSize(r, 16)}
			for range len(body) + 1 {
				next, err := s.Next()
				if err != nil {
					return frames, err.Error()
				}
				text := next.Type + string(next.Status)
				if next.Object != nil {
					text += string(next.Object.Raw)
				}
				frames = append(frames, text)
			}
			t.Fatalf("%q does not end", body)
			return nil, ""
		}
		frames, end := read(bytes.NewReader(body))
		again, endAgain := read(iotest.OneByteReader(bytes.NewReader(body)))
		if len(frames) != len(again) || end != endAgain {
			t.Fatalf("%q has the frames %q (%s), but %q (%s) byte by byte", body, frames, end, again, endAgain)
		}
	})
}
