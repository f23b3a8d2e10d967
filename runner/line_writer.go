package runner

import "bufio"

// maxLine is the length beyond which lines of output are broken.
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

// flush takes what is there for a line.
func (w *lineWriter) flush() {
	if len(w.partial) > 0 {
		w.line(string(w.partial))
		w.partial = w.partial[:0]
	}
}
