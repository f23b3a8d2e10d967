package runner

import "bufio"

// maxLine is the length in bytes at which a line is split.
const maxLine = 64 << 10

// lineWriter calls a function for each complete line that is written to it.
type lineWriter struct {
	line    func(string)
	partial []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		advance, token, err := bufio.ScanLines(p, false)
		if err != nil {
			return 0, err
		}
		if advance == 0 { // no end of line
			w.partial = append(w.partial, p...)
			if len(w.partial) >= maxLine {
				w.flush()
			}
			break
		}
		if len(w.partial) > 0 {
			token = append(w.partial, token...)
		}
		w.line(string(token))
		w.partial = w.partial[:0]
		p = p[advance:]
	}
	return n, nil
}

// flush passes on an incomplete last line.
func (w *lineWriter) flush() {
	if len(w.partial) > 0 {
		w.line(string(w.partial))
		w.partial = w.partial[:0]
	}
}
