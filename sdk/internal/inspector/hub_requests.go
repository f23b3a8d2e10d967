package inspector

import (
	"cmp"
	"sort"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// RequestKind is what requests to the API server are counted by. It is comparable, so that counting a request
// allocates nothing.
type RequestKind struct {
	Verb                   string
	Group, Version, Plural string // resource of the request; empty if there is none
	Subresource            string
	Code                   int // 0 without a response
}

// RequestRun is one attempt of a request.
type RequestRun struct {
	At       time.Time // time of its end
	Took     time.Duration
	Repeated bool
	Err      error
}

// requestTallies count the requests to the API server by their kinds. They have their own mutex, because requests are
// frequent and wake up no readers. Readers request the counts when they need them.
type requestTallies struct {
	mu     sync.Mutex
	since  time.Time
	byKind map[RequestKind]*requestTally
}

// maxRequestKinds limits the memory for requests; there are some dozens of kinds in practice.
const maxRequestKinds = 1000

type requestTally struct {
	count, repeated int
	took            []time.Duration // ring of the newest durations
	recent          recent
	lastError       error
	lastAt          time.Time
}

// CountRequests begins to count.
func (h *Hub) CountRequests(since time.Time) {
	h.requests.mu.Lock()
	defer h.requests.mu.Unlock()
	h.requests.since = since
}

// CountRequest counts an attempt of a request to the API server.
func (h *Hub) CountRequest(kind RequestKind, run RequestRun) {
	if h == nil {
		return
	}
	r := &h.requests
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.byKind[kind]
	if t == nil {
		if len(r.byKind) >= maxRequestKinds {
			return
		}
		if r.byKind == nil {
			r.byKind = map[RequestKind]*requestTally{}
		}
		t = &requestTally{}
		r.byKind[kind] = t
	}
	if len(t.took) < tallyWindow {
		t.took = append(t.took, run.Took)
	} else {
		t.took[t.count%tallyWindow] = run.Took
	}
	t.count++
	t.recent.count(run.At, run.Took)
	t.lastAt = run.At
	if run.Repeated {
		t.repeated++
	}
	if run.Err != nil {
		t.lastError = run.Err
	}
}

// Requests returns the counts at a moment, the most frequent requests first.
func (h *Hub) Requests(now time.Time) inspect.Requests {
	r := &h.requests
	r.mu.Lock()
	defer r.mu.Unlock()
	all := inspect.Requests{Since: r.since, Kinds: make([]inspect.RequestStats, 0, len(r.byKind))}
	for kind, t := range r.byKind {
		s := inspect.RequestStats{
			Verb: kind.Verb, Resource: kind.resource(), Code: kind.Code,
			Count: t.count, Repeated: t.repeated, PerMinute: t.recent.within(now, int64(time.Minute/recentStep)), LastAt: t.lastAt,
		}
		s.P50, s.P99 = quantiles(t.took)
		if t.lastError != nil {
			s.LastError = t.lastError.Error()
		}
		all.Kinds = append(all.Kinds, s)
	}
	sort.Slice(all.Kinds, func(i, j int) bool {
		a, b := &all.Kinds[i], &all.Kinds[j]
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Code, b.Code)) < 0
	})
	return all
}

// resource names the resource with its subresource, as in [inspect.RequestStats].
func (k *RequestKind) resource() string {
	if k.Plural == "" {
		return ""
	}
	name := k.Plural + "." + k.Version
	if k.Group != "" {
		name += "." + k.Group
	}
	if k.Subresource != "" {
		name += "/" + k.Subresource
	}
	return name
}
