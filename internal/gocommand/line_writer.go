package gocommand

import "bufio"

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
		advance, token, err := bufio.ScanLines(p, false)
		if err != nil {
			return 0, err
		}
		if advance == 0 { // no end of line
			w.partial = append(w.partial, p...)
			if len(w.partial) >= maxLine {
				w.Flush()
			}
			break
		}
		if len(w.partial) > 0 {
			token = append(w.partial, token...)
		}
		w.Line(string(token))
		w.partial = w.partial[:0]
		p = p[advance:]
	}
	return n, nil
}

// Flush passes on an incomplete last line.
func (w *LineWriter) Flush() {
	if len(w.partial) > 0 {
		w.Line(string(w.partial))
		w.partial = w.partial[:0]
	}
}
