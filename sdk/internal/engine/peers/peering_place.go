package peers

import "sync"

// presence says whether a peering object exists.
type presence int

const (
	presenceUnknown presence = iota
	absent
	present
)

// meetingPoint is a peering object.
type meetingPoint interface {
	reconsider()
	group() string // the API group
}

// peeringPlace is the peering objects of a namespace, or of the cluster: one in each API group of peering. Operators meet in
// each object that exists; one is enough. A goroutine locks an object before its place.
type peeringPlace struct {
	running *sync.WaitGroup // the goroutines of all peering objects

	mu      sync.Mutex
	objects map[meetingPoint]presence
}

// join adds an object, which is unknown at first.
func (p *peeringPlace) join(o meetingPoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.objects[o] = presenceUnknown
}

// leave removes an object.
func (p *peeringPlace) leave(o meetingPoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.objects, o)
	p.changed(o)
}

// found records whether an object exists. If that is news, the others decide again.
func (p *peeringPlace) found(o meetingPoint, now presence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.objects[o] != now {
		p.objects[o] = now
		p.changed(o)
	}
}

// changed makes the other objects decide again, each under its own lock. The lock must be held.
func (p *peeringPlace) changed(o meetingPoint) {
	for other := range p.objects {
		if other != o {
			p.running.Go(other.reconsider)
		}
	}
}

// absence reports whether all other objects are known, and whether an absent object is missing. If another object exists,
// nothing is missing. Of several absent objects, the one in the preferred API group is missing.
func (p *peeringPlace) absence(o meetingPoint) (known, missing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	missing = true
	for other, presence := range p.objects {
		switch {
		case other == o:
		case presence == presenceUnknown:
			return false, false
		case presence == present, other.group() < o.group():
			missing = false
		}
	}
	return true, missing
}

// isPreferred reports whether an object is in the preferred API group.
func (p *peeringPlace) isPreferred(o meetingPoint) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other := range p.objects {
		if other.group() < o.group() {
			return false
		}
	}
	return true
}
