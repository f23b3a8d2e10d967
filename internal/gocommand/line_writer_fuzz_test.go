package gocommand

import (
	"slices"
	"strings"
	"testing"
)

func FuzzLineWriter(f *testing.F) {
	f.Add("a\nb\r\n\nc", 1)
	f.Add("a\r", 1)
	f.Add("\r\n\r\n", 2)
	f.Fuzz(func(t *testing.T, text string, size int) {
		write := func(size int) (lines []string) {
			w := &LineWriter{Line: func(line string) { lines = append(lines, line) }}
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				if _, err := w.Write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			w.Flush()
			return lines
		}
		if len(text) >= maxLine {
			return
		}
		whole, parts := write(len(text)+1), write(max(size%64, 1))
		if !slices.Equal(whole, parts) {
			t.Errorf("%q: %q in one piece, %q in several", text, whole, parts)
		}
		if strings.Count(text, "\n") > len(whole) {
			t.Errorf("%q: %q", text, whole)
		}
	})
}
