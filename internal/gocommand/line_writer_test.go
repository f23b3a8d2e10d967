package gocommand

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLineWriter_SplitsOutputIntoLines(t *testing.T) {
	var lines []string
	w := &LineWriter{Line: func(text string) { lines = append(lines, text) }}
	for _, part := range []string{"one\ntwo\r\nth", "re", "e\n\nfour"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	w.Flush()
	w.Flush()
	if diff := cmp.Diff([]string{"one", "two", "three", "", "four"}, lines); diff != "" {
		t.Error(diff)
	}
}

func TestLineWriter_SplitsEndlessLine(t *testing.T) {
	count := 0
	w := &LineWriter{Line: func(text string) { count += len(text) }}
	for range 10 {
		if _, err := w.Write(make([]byte, maxLine/2)); err != nil {
			t.Fatal(err)
		}
	}
	if count != 5*maxLine || cap(w.partial) > 4*maxLine {
		t.Errorf("%d bytes came, %d are held", count, cap(w.partial))
	}
}
