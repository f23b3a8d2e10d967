package gocommand

import "bytes"

// maxLine is the length in bytes at which a line is split.
const maxLine = 64 << 10

// LineWriter calls Line for each line that is written to it, without its end.
type LineWriter struct {
	Line    func(line string)
	partial []byte
}

func (w *LineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			w.partial = append(w.partial, p...)
			if len(w.partial) >= maxLine {
				w.Flush()
			}
			break
		}
		w.partial = append(w.partial, p[:end]...)
		w.end()
		p = p[end+1:]
	}
	return n, nil
}

// Flush passes on an incomplete last line.
func (w *LineWriter) Flush() {
	if len(w.partial) > 0 {
		w.end()
	}
}

func (w *LineWriter) end() {
	w.Line(string(bytes.TrimSuffix(w.partial, []byte("\r"))))
	w.partial = w.partial[:0]
}
