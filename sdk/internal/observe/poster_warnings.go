package observe

import "time"

// warnEvery is the minimum time between two warnings about drops, and between two warnings about failures.
const warnEvery = time.Minute

// warned has the times of the last warnings about drops and failures, and the counts since these warnings.
type warned struct {
	drops, failures       time.Time
	dropped, failedSilent int
}

// drop counts an event that is not sent. The lock must be held.
func (p *Poster) drop(why string) {
	p.stats.Dropped++
	p.warned.dropped++
	if now := time.Now(); now.Sub(p.warned.drops) >= warnEvery {
		p.options.Logger.Warn("Dropping Kubernetes events", EventKey, LogEventsDropped, "reason", why, "dropped", p.warned.dropped)
		p.warned.drops, p.warned.dropped = now, 0
	}
}

// failed logs that the API server rejected an event. The lock must be held.
func (p *Poster) failed(err error) {
	p.warned.failedSilent++
	if now := time.Now(); now.Sub(p.warned.failures) >= warnEvery {
		p.options.Logger.Warn("Failed to post an event. Ignoring and continuing.", EventKey, LogEventsFailed, "error", err, "failed", p.warned.failedSilent)
		p.warned.failures, p.warned.failedSilent = now, 0
	}
}
