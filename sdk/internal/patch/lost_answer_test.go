package patch

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

var errLost = errors.New("the answer is lost")

// forgetful is a server that loses some answers after it has applied the requests, or before.
type forgetful struct {
	fakeServer
	loses func(n int, call Call) (applied, loses bool)
	base  map[string]map[string]any // objects after a write, keyed by their resourceVersion before it
}

func (s *forgetful) requests() Requests {
	n := 0
	return Requests{
		Send: func(call Call) (Object, error) {
			n++
			applied, loses := s.loses(n, call)
			if loses && !applied {
				return nil, errLost
			}
			before, _ := object.Metadata(s.object)["resourceVersion"].(string)
			answer, err := s.do(call)
			if err == nil {
				s.base[before] = s.object
			}
			if loses && err == nil {
				return nil, errLost
			}
			return answer, err
		},
		Landed: func(call Call) (Object, bool, error) {
			next, ok := s.base[call.Version()]
			return state(s.object), ok && call.Applied(next), nil
		},
	}
}

// deliver sends a patch again and again until nothing remains.
func deliver(t *testing.T, s *forgetful, p *Patch, status bool) {
	t.Helper()
	requests := s.requests()
	for range 10 {
		result, err := p.Send(state(s.object), status, requests)
		if err != nil && !errors.Is(err, errLost) {
			t.Fatal(err)
		}
		if p = result.Remaining; p == nil {
			return
		}
	}
	t.Error("something remains")
}

func count(field string) Fn {
	return func(obj map[string]any) error {
		before, _ := object.Lookup(obj, object.Path{field, "n"})
		n, _ := before.(int64)
		return object.Ensure(obj, object.Path{field, "n"}, n+1)
	}
}

func TestLostAnswer_TransformationsAreAppliedOnce(t *testing.T) {
	for _, status := range []bool{false, true} {
		for lost := range 4 {
			for _, applied := range []bool{false, true} {
				t.Run(fmt.Sprint(status, lost, applied), func(t *testing.T) {
					s := &forgetful{fakeServer: fakeServer{object: newObject()}, base: map[string]map[string]any{}}
					s.loses = func(n int, _ Call) (bool, bool) { return applied, n <= lost }
					p := NewPatch()
					p.AddFn(count("spec"))
					p.AddFn(count("status"))
					deliver(t, s, p, status)
					want := []any{map[string]any{"n": int64(1)}, map[string]any{"n": int64(1)}}
					if diff := cmp.Diff(want, []any{s.object["spec"], s.object["status"]}); diff != "" {
						t.Error(diff)
					}
				})
			}
		}
	}
}

func TestLostAnswer_LaterTransformationsAreNotTakenForIt(t *testing.T) {
	s := &forgetful{fakeServer: fakeServer{object: newObject()}, base: map[string]map[string]any{}}
	s.loses = func(n int, _ Call) (bool, bool) { return true, n == 1 }
	p := NewPatch()
	p.AddFn(count("spec"))
	result, err := p.Send(state(newObject()), false, s.requests())
	if !errors.Is(err, errLost) {
		t.Fatal(err)
	}
	again := NewPatch()
	again.AddFn(count("other"))
	again.Restore(result.Remaining)
	s.loses = func(int, Call) (bool, bool) { return false, false }
	deliver(t, s, again, false)
	for _, field := range []string{"spec", "other"} {
		if diff := cmp.Diff(map[string]any{"n": int64(1)}, s.object[field]); diff != "" {
			t.Error(field, diff)
		}
	}
}

func TestLostAnswer_LaterTransformationsFollowInTheSameSend(t *testing.T) {
	for _, applied := range []bool{false, true} {
		s := &forgetful{fakeServer: fakeServer{object: newObject()}, base: map[string]map[string]any{}}
		s.loses = func(n int, _ Call) (bool, bool) { return applied, n == 1 }
		requests := s.requests()
		p := NewPatch()
		p.AddFn(count("spec"))
		result, err := p.Send(state(newObject()), false, requests)
		if !errors.Is(err, errLost) {
			t.Fatal(err)
		}
		p = result.Remaining
		p.AddFn(count("other"))
		if result, err = p.Send(state(s.object), false, requests); err != nil || result.Remaining != nil {
			t.Errorf("something remains, and no event brings a newer version: %+v, %v", result, err)
		}
		for _, field := range []string{"spec", "other"} {
			if diff := cmp.Diff(map[string]any{"n": int64(1)}, s.object[field]); diff != "" {
				t.Error(field, diff)
			}
		}
	}
}

func TestLostAnswer_ConflictInTheStatusRepeatsNothingElse(t *testing.T) {
	s := &forgetful{fakeServer: fakeServer{object: newObject()}, base: map[string]map[string]any{}}
	s.loses = func(int, Call) (bool, bool) { return false, false }
	conflicts := 0
	s.fail = func(call Call) int {
		if call.Subresource == "status" && conflicts == 0 {
			conflicts++
			return 422
		}
		return 0
	}
	p := NewPatch()
	p.AddFn(count("spec"))
	p.AddFn(count("status"))
	deliver(t, s, p, true)
	want := []any{map[string]any{"n": int64(1)}, map[string]any{"n": int64(1)}}
	if diff := cmp.Diff(want, []any{s.object["spec"], s.object["status"]}); diff != "" {
		t.Error(diff)
	}
}

func TestApplied_ByTheFieldsThatChange(t *testing.T) {
	base := map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "a": int64(1), "list": []any{"x"}}
	wanted := map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "a": int64(2), "list": []any{"x", "y"}}
	call := Call{Base: base, Wanted: wanted}
	for name, test := range map[string]struct {
		seen map[string]any
		want bool
	}{
		"as wanted":               {map[string]any{"a": int64(2), "list": []any{"x", "y"}}, true},
		"with changes by others":  {map[string]any{"a": int64(2), "list": []any{"x", "y"}, "b": int64(1)}, true},
		"with a field dropped":    {map[string]any{"a": int64(2), "list": []any{"x"}}, true},
		"as before":               {map[string]any{"a": int64(1), "list": []any{"x"}}, false},
		"changed by others":       {map[string]any{"a": int64(7), "list": []any{"x"}}, false},
		"changed by others, too":  {map[string]any{"a": int64(2), "list": []any{"z"}}, false},
		"only the others' fields": {map[string]any{"a": int64(1), "list": []any{"x"}, "b": int64(1)}, false},
	} {
		if got := call.Applied(test.seen); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
