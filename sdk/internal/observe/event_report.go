package observe

import "time"

// reportEvery is how often trouble is logged: there may be a lot of it at once.
const reportEvery = time.Minute

// told is when trouble was logged, and how much there was since.
type told struct {
	drops, failures       time.Time
	dropped, failedSilent int
}

// drop counts an event that is not sent. The lock is held.
func (p *Poster) drop(why string) {
	p.stats.Dropped++
	p.told.dropped++
	if now := time.Now(); now.Sub(p.told.drops) >= reportEvery {
		p.options.Logger.Warn("Kubernetes events are dropped", "reason", why, "dropped", p.told.dropped)
		p.told.drops, p.told.dropped = now, 0
	}
}

// failed tells of an event that the cluster did not take. The lock is held.
func (p *Poster) failed(err error) {
	p.told.failedSilent++
	if now := time.Now(); now.Sub(p.told.failures) >= reportEvery {
		p.options.Logger.Warn("Failed to post an event. Ignoring and continuing.", "error", err, "failed", p.told.failedSilent)
		p.told.failures, p.told.failedSilent = now, 0
	}
}
