package kopftest

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// An InjectedFault is a fault that happened.
type InjectedFault struct {
	Time   time.Time
	Fault  Fault
	Method string // HTTP method
	Path   string // path and query
	Object string // name of the request's or event's object; empty for lists
}

// decisions apply the rules of faults to requests and events, and record the outcomes.
type decisions struct {
	namespace string // the test's namespace, which differs in each run

	mu       sync.Mutex
	faults   Faults
	matched  []int // number of matching requests or events by rule
	applied  []int // number of applied faults by rule
	seen     map[string]int
	injected []InjectedFault
}

func (d *decisions) set(faults Faults) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = faults
	d.matched, d.applied = make([]int, len(faults.Rules)), make([]int, len(faults.Rules))
	d.seen = map[string]int{}
}

// forRequest returns the fault of a request; nil if there is none. The caller injects the fault and then calls
// [decisions.note].
func (d *decisions) forRequest(r *http.Request) *Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := r.Method + " " + strings.ReplaceAll(r.URL.Path, d.namespace, "")
	if Watches(r) {
		key = "WATCH " + key
	}
	if Lists(r) {
		key = "LIST " + key
	}
	n := d.count(key)
	for i, rule := range d.faults.Rules {
		if !rule.Fault.Kind.ofEvents() && d.applies(i, r, key, n) {
			return &rule.Fault
		}
	}
	return nil
}

// forEvent returns the faults of an event in a stream, by kind.
func (d *decisions) forEvent(r *http.Request, e event) map[FaultKind]Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := "EVENT " + e.Object.Metadata.Name + " " + strings.ReplaceAll(r.URL.Path, d.namespace, "")
	n := d.count(key)
	var found map[FaultKind]Fault
	for i, rule := range d.faults.Rules {
		if rule.Fault.Kind.ofEvents() && d.applies(i, r, key, n) {
			if found == nil {
				found = map[FaultKind]Fault{}
			}
			found[rule.Fault.Kind] = rule.Fault
		}
	}
	return found
}

func (d *decisions) count(key string) int {
	if d.seen == nil {
		d.seen = map[string]int{}
	}
	d.seen[key]++
	return d.seen[key]
}

// applies reports whether a rule applies to a request, or to an event of the request's stream.
func (d *decisions) applies(i int, r *http.Request, key string, n int) bool {
	rule := d.faults.Rules[i]
	if rule.Match != nil && !rule.Match(r) || rule.Times > 0 && d.applied[i] >= rule.Times {
		return false
	}
	d.matched[i]++
	if d.matched[i] <= rule.Skip || rule.Chance > 0 && roll(d.faults.Seed, i, key, n) >= rule.Chance {
		return false
	}
	d.applied[i]++
	return true
}

// note records that a fault happened, and calls [Fault].Do.
func (d *decisions) note(fault Fault, r *http.Request, object string) {
	d.mu.Lock()
	d.injected = append(d.injected, InjectedFault{time.Now(), fault, r.Method, r.URL.RequestURI(), object})
	d.mu.Unlock()
	if fault.Do != nil {
		fault.Do()
	}
}

// part returns the position at which to cut a string of the given length. If the length is at least 2, the position is
// neither the start nor the end.
func (d *decisions) part(key string, length int) int {
	d.mu.Lock()
	seed := d.faults.Seed
	d.mu.Unlock()
	if length < 2 {
		return length
	}
	return 1 + int(roll(seed, 0, key, length)*float64(length-1))
}
