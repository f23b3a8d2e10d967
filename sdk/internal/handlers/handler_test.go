package handlers

import (
	"context"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func registered(hs ...*Handler) *Set {
	var r Registry
	for _, h := range hs {
		if h.Fn == nil {
			h.Fn = h.ID
		}
		h.Selector = allKex()
		r.Add(h)
	}
	return r.ForResource(kex)
}

func updated(old, new map[string]any) *Cause {
	return &Cause{Resource: kex, Reason: ReasonUpdate, Tree: new, Old: old, New: new, Diff: object.ComputeDiff(old, new)}
}

func spec(value any) map[string]any {
	return map[string]any{"spec": map[string]any{"f": value}}
}

func TestLimits_DefaultsOfFamily(t *testing.T) {
	for family, want := range map[Family]ErrorsMode{
		Create: ErrorsTemporary, Event: ErrorsIgnored, Index: ErrorsIgnored,
		Mutate: ErrorsPermanent, Startup: ErrorsTemporary, Daemon: ErrorsTemporary,
	} {
		if got := (&Handler{Family: family}).Limits().Errors; got != want {
			t.Errorf("%s: got %d, want %d", family, got, want)
		}
	}
	h := &Handler{Family: Index, ErrorsSet: true, Retries: new(3), Timeout: new(time.Second)}
	if got := h.Limits(); got.Errors != ErrorsTemporary || *got.Retries != 3 || *got.Timeout != time.Second || got.Backoff != nil {
		t.Errorf("got %+v", got)
	}
}

func TestHandler_StringNamesFamily(t *testing.T) {
	for want, h := range map[string]*Handler{
		"Handler 'fn/spec.f'": {ID: "fn/spec.f", Family: Field},
		`Handler "it's"`:      {ID: "it's", Family: Sub},
		"Daemon 'd'":          {ID: "d", Family: Daemon},
		"Timer 't'":           {ID: "t", Family: Timer},
		"Indexer 'i'":         {ID: "i", Family: Index},
		"Webhook 'w'":         {ID: "w", Family: Mutate},
		"Activity 'a'":        {ID: "a", Family: Login},
	} {
		if got := h.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestClashes_OnlyWithoutOtherFilters(t *testing.T) {
	x := EqualStringCriterion("x")
	isNew := func(context.Context, *Cause) bool { return true }
	first := &Handler{ID: "fn", Fn: 1}
	for name, test := range map[string]struct {
		other *Handler
		want  bool
	}{
		"another id":         {&Handler{ID: "other", Fn: 1}, false},
		"another function":   {&Handler{ID: "fn", Fn: 2, Labels: map[string]Criterion{"a": x}}, true},
		"the same":           {&Handler{ID: "fn", Fn: 1}, true},
		"no labels":          {&Handler{ID: "fn", Fn: 1, Labels: map[string]Criterion{}}, true},
		"another parameter":  {&Handler{ID: "fn", Fn: 1, Param: 5}, true},
		"labels":             {&Handler{ID: "fn", Fn: 1, Labels: map[string]Criterion{"a": x}}, false},
		"annotations":        {&Handler{ID: "fn", Fn: 1, Annotations: map[string]Criterion{"a": Absent}}, false},
		"a filter by a func": {&Handler{ID: "fn", Fn: 1, When: isNew}, false},
		"an old value":       {&Handler{ID: "fn", Fn: 1, Old: &x}, false},
		"reasons":            {&Handler{ID: "fn", Fn: 1, Reasons: []Reason{ReasonCreate}}, false},
	} {
		if got := first.Clashes(test.other); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
		if got := test.other.Clashes(first); got != test.want {
			t.Errorf("%s, the other way round: got %v", name, got)
		}
	}
}
