package patch

import (
	"errors"
	"fmt"
	"maps"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// lostAnswer is a JSON patch that the server may have applied, though its answer was lost.
type lostAnswer struct {
	call Call
	fns  int // number of transformations in the request, counted from the first

	status bool // they change the status too, by a request that was to follow
}

func (p *Patch) lostAnswer() *lostAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// settleLost determines the effect of the request whose response was lost, and drops the transformations that the
// request applied. It returns false if the object was deleted.
func (s *sender) settleLost() (exists bool, err error) {
	if s.requests.Landed == nil {
		s.lost = nil
		return true, nil
	}
	newest, landed, err := s.requests.Landed(s.lost.call)
	switch {
	case errors.Is(err, ErrGone):
		s.gone()
		return false, nil
	case err != nil:
		return false, fmt.Errorf("find out whether a patch was applied: %w", err)
	}
	s.latest = newest
	if landed {
		s.result.Object = newest
		if s.lost.status {
			s.fns = statusOnly(s.fns)
		} else {
			s.fns = nil
		}
	}
	s.lost = nil
	return true, nil
}

// statusOnly restricts transformations to the status, as their other changes are applied already.
func statusOnly(fns []Fn) []Fn {
	out := make([]Fn, 0, len(fns))
	for _, fn := range fns {
		out = append(out, func(obj map[string]any) error {
			scratch := object.CloneMap(obj)
			if err := fn(scratch); err != nil {
				return err
			}
			maps.Copy(obj, withStatusOf(obj, scratch))
			if _, ok := scratch["status"]; !ok {
				delete(obj, "status")
			}
			return nil
		})
	}
	return out
}

// withStatusOf returns an object with the status of another one.
func withStatusOf(obj, other map[string]any) map[string]any {
	out := maps.Clone(obj)
	if out == nil {
		out = map[string]any{}
	}
	delete(out, "status")
	if status, ok := other["status"]; ok {
		out["status"] = status
	}
	return out
}

// Applied reports whether a version of the object shows the changes of the request. It should be the
// first version after that which the request was for: later changes may hide those of the request.
func (c Call) Applied(version map[string]any) bool {
	var e evidence
	e.compare(c.Base, c.Wanted, version)
	return e.present > 0 && e.other == 0
}

// evidence counts the fields that a request changes, by their values in a later version.
type evidence struct {
	present int // number of operations with the wanted result
	other   int // neither as wanted, nor as before, which a schema that drops the field explains
}

func (e *evidence) compare(before, wanted, seen any) {
	if identical(before, wanted) {
		return
	}
	from, areMaps := before.(map[string]any)
	to, isMap := wanted.(map[string]any)
	if areMaps && isMap {
		now, _ := seen.(map[string]any)
		for key := range from {
			e.compare(from[key], to[key], now[key])
		}
		for key := range to {
			if _, both := from[key]; !both {
				e.compare(nil, to[key], now[key])
			}
		}
		return
	}
	switch {
	case identical(seen, wanted):
		e.present++
	case !identical(seen, before):
		e.other++
	}
}
