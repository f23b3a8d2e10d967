package kopftest

import (
	"net/http"
	"sync"
	"time"
)

// ChaosRules returns the rules of [Chaos]. About a quarter of the writes have a fault, a sixth of the reads, a third of the
// streams, and a tenth of the events. One in five starting operators sees an old state of the objects, of up to 5 seconds
// ago.
func ChaosRules() []FaultRule {
	var rules []FaultRule
	add := func(match func(*http.Request) bool, chance float64, faults ...Fault) {
		for _, fault := range faults {
			rules = append(rules, FaultRule{Match: match, Chance: chance, Fault: fault})
		}
	}
	add(firstLists(), 0.1,
		Fault{Kind: FaultStale, Age: time.Second, Delay: 100 * time.Millisecond},
		Fault{Kind: FaultStale, Age: 5 * time.Second, Delay: 500 * time.Millisecond},
	)
	add(Writes, 0.01, append(requestFaults(),
		Fault{Kind: FaultStatus, Code: http.StatusConflict},
		Fault{Kind: FaultStatus, Code: http.StatusUnprocessableEntity},
		Fault{Kind: FaultDrop, AfterEffect: true},
		Fault{Kind: FaultSilence, AfterEffect: true},
		Fault{Kind: FaultDelay, AfterEffect: true, Delay: 50 * time.Millisecond},
		Fault{Kind: FaultStatus, Code: http.StatusInternalServerError, AfterEffect: true},
		Fault{Kind: FaultStatus, Code: http.StatusGatewayTimeout, AfterEffect: true},
		Fault{Kind: FaultGarbage, AfterEffect: true},
		Fault{Kind: FaultGarbage, Code: http.StatusBadGateway, AfterEffect: true},
	)...)
	// A permanent refusal: the operator logs it and discards the handlers' changes.
	add(Requests(http.MethodPatch, ""), 0.005,
		Fault{Kind: FaultStatus, Code: http.StatusBadRequest},
		Fault{Kind: FaultStatus, Code: http.StatusUnprocessableEntity, Field: "spec"},
	)
	add(Reads, 0.01, append(requestFaults(), Fault{Kind: FaultStatus, Code: http.StatusGone})...)
	add(Watches, 0.02,
		Fault{Kind: FaultDrop, Events: 1}, Fault{Kind: FaultDrop, Events: 5},
		Fault{Kind: FaultStatus, Code: http.StatusGone, Events: 1}, Fault{Kind: FaultStatus, Code: http.StatusGone, Events: 5},
		Fault{Kind: FaultStatus, Code: http.StatusInternalServerError, Events: 3},
		Fault{Kind: FaultGarbage, Events: 3}, Fault{Kind: FaultGlue, Events: 3}, Fault{Kind: FaultTruncate, Events: 3},
		Fault{Kind: FaultSilence, Events: 3}, Fault{Kind: FaultDelay, Delay: 50 * time.Millisecond},
	)
	add(Watches, 0.03, Fault{Kind: FaultDuplicate}, Fault{Kind: FaultOutdated}, Fault{Kind: FaultReorder})
	return rules
}

// requestFaults are the faults of all requests.
func requestFaults() []Fault {
	status := func(code int) Fault { return Fault{Kind: FaultStatus, Code: code} }
	return []Fault{
		{Kind: FaultDrop}, {Kind: FaultSilence}, {Kind: FaultDelay, Delay: 50 * time.Millisecond},
		status(http.StatusUnauthorized), status(http.StatusForbidden), status(http.StatusNotFound),
		status(http.StatusTooManyRequests), {Kind: FaultStatus, Code: http.StatusTooManyRequests, RetryAfter: time.Second},
		status(http.StatusInternalServerError), status(http.StatusBadGateway), status(http.StatusServiceUnavailable),
		{Kind: FaultStatus, Code: http.StatusServiceUnavailable, RetryAfter: time.Second}, status(http.StatusGatewayTimeout),
		{Kind: FaultGarbage}, {Kind: FaultGarbage, Code: http.StatusBadGateway}, {Kind: FaultTruncate},
	}
}

// firstLists matches the first list of each path in each life of an operator. Later lists must not be stale, because an API
// server never shows a client an older version than before.
func firstLists() func(*http.Request) bool {
	type first struct {
		life    string
		request *http.Request // first list of the path; several rules check the same request
	}
	var mu sync.Mutex
	seen := map[string]first{} // by path
	return func(r *http.Request) bool {
		if !Lists(r) {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		life := r.Header.Get(lifeHeader)
		if f := seen[r.URL.Path]; f.life == life {
			return f.request == r
		}
		seen[r.URL.Path] = first{life, r}
		return true
	}
}
