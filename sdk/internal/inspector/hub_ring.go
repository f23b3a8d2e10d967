package inspector

// ring holds the newest log lines, or reviews, numbered from 1 in the order of their arrival.
type ring[T any] struct {
	limit int
	lines []T    // grows up to the limit; then the oldest is overwritten
	last  uint64 // number of the newest line
}

func (r *ring[T]) add(line T) {
	if len(r.lines) < r.limit {
		r.lines = append(r.lines, line)
	} else {
		r.lines[r.last%uint64(r.limit)] = line
	}
	r.last++
}

// after returns the lines after a number, oldest first, and how many of them were overwritten.
func (r *ring[T]) after(seen uint64) (lines []T, lost int) {
	oldest := r.last - uint64(len(r.lines)) // number of the line before the oldest
	if seen < oldest {
		lost = int(oldest - seen)
		seen = oldest
	}
	if seen >= r.last {
		return nil, lost
	}
	lines = make([]T, 0, r.last-seen)
	for n := seen; n < r.last; n++ {
		lines = append(lines, r.lines[n%uint64(r.limit)])
	}
	return lines, lost
}
