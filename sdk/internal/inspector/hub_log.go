package inspector

import "github.com/kopf-dev/kopf/sdk/inspect"

// logRing holds the newest log lines, numbered from 1 in the order of their arrival.
type logRing struct {
	limit int
	lines []inspect.LogLine // grows up to the limit; then the oldest is overwritten
	last  uint64            // number of the newest line
}

func (r *logRing) add(line inspect.LogLine) {
	if len(r.lines) < r.limit {
		r.lines = append(r.lines, line)
	} else {
		r.lines[r.last%uint64(r.limit)] = line
	}
	r.last++
}

// after returns the lines after a number, oldest first, and how many of them were overwritten.
func (r *logRing) after(seen uint64) (lines []inspect.LogLine, lost int) {
	oldest := r.last - uint64(len(r.lines)) // number of the line before the oldest
	if seen < oldest {
		lost = int(oldest - seen)
		seen = oldest
	}
	if seen >= r.last {
		return nil, lost
	}
	lines = make([]inspect.LogLine, 0, r.last-seen)
	for n := seen; n < r.last; n++ {
		lines = append(lines, r.lines[n%uint64(r.limit)])
	}
	return lines, lost
}
