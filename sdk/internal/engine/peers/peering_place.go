package peers

import "sync"

// presence is the existence of a peering object.
type presence int

const (
	presenceUnknown presence = iota
	absent
	present
)

// peeringPlace holds the peering objects of a namespace or of the cluster, one in each API group of peering. Operators
// see each other in every object that exists; one is enough. To avoid deadlocks, a goroutine locks an object before its
// place.
type peeringPlace struct {
	running *sync.WaitGroup // the goroutines of all peering objects

	mu      sync.Mutex
	objects map[*peeringObject]presence
}

// join adds an object with unknown presence.
func (p *peeringPlace) join(o *peeringObject) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.objects[o] = presenceUnknown
}

func (p *peeringPlace) leave(o *peeringObject) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.objects, o)
	p.changed(o)
}

// found records whether an object exists. If that changes its presence, the other objects decide again.
func (p *peeringPlace) found(o *peeringObject, now presence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.objects[o] != now {
		p.objects[o] = now
		p.changed(o)
	}
}

// changed makes the other objects decide again, each under its own lock. The lock must be held.
func (p *peeringPlace) changed(o *peeringObject) {
	for other := range p.objects {
		if other != o {
			p.running.Go(other.reconsider)
		}
	}
}

// absence reports whether the presence of all other objects is known, and whether the operator must regard an absent
// object as missing. An existing object makes all others dispensable. If all objects are absent, only the one in the
// preferred API group is missing.
func (p *peeringPlace) absence(o *peeringObject) (known, missing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	missing = true
	for other, presence := range p.objects {
		switch {
		case other == o:
		case presence == presenceUnknown:
			return false, false
		case presence == present, other.resource.Group < o.resource.Group:
			missing = false
		}
	}
	return true, missing
}

// isPreferred reports whether an object is in the preferred API group.
func (p *peeringPlace) isPreferred(o *peeringObject) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other := range p.objects {
		if other.resource.Group < o.resource.Group {
			return false
		}
	}
	return true
}
