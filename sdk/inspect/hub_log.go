package inspect

// logRing keeps the newest log lines. Lines are numbered from 1 in the order of their
// arrival.
type logRing struct {
	limit int
	lines []LogLine // grows up to the limit, is overwritten in turn from then on
	last  uint64    // the number of the newest line
}

func (r *logRing) add(line LogLine) {
	if len(r.lines) < r.limit {
		r.lines = append(r.lines, line)
	} else {
		r.lines[r.last%uint64(r.limit)] = line
	}
	r.last++
}

// after returns the lines behind the given number, oldest first, and how many of them
// are lost.
func (r *logRing) after(seen uint64) (lines []LogLine, lost int) {
	oldest := r.last - uint64(len(r.lines)) // the number before the oldest line's
	if seen < oldest {
		lost = int(oldest - seen)
		seen = oldest
	}
	if seen >= r.last {
		return nil, lost
	}
	lines = make([]LogLine, 0, r.last-seen)
	for n := seen; n < r.last; n++ {
		lines = append(lines, r.lines[n%uint64(r.limit)])
	}
	return lines, lost
}
