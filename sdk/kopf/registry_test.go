package kopf_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

var kex = kopf.Resource("kopf.dev/v1", "kopfexamples")

type (
	change         = kopf.Change[kopf.Object]
	app            struct{}
	generic[T any] struct{}
	creator        interface {
		create(context.Context, *change) error
	}
)

func (*app) create(context.Context, *change) error                { return nil }
func (app) byValue(context.Context, *change) error                { return nil }
func (*generic[T]) handle(context.Context, *kopf.Change[T]) error { return nil }
func instance[T any](context.Context, *kopf.Change[T]) error      { return nil }
func func1(context.Context, *change) error                        { return nil }
func größe(context.Context, *change) error                        { return nil }
func _private(context.Context, *change) error                     { return nil }
func onSize(context.Context, *kopf.FieldChange[string]) error     { return nil }
func onEvent(context.Context, *kopf.Event[kopf.Object]) error     { return nil }
func closure(f func()) func(context.Context, *change) error {
	return func(context.Context, *change) error { f(); return nil }
}

var variable = func(context.Context, *change) error { return nil }

func twice(yield func(int) bool) { _ = yield(1) && yield(2) }

func TestRegistry_IDIsFunctionName(t *testing.T) {
	for name, test := range map[string]struct {
		register func(r *kopf.Registry)
		want     string
	}{
		"function":            {func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1) }, "func1"},
		"method":              {func(r *kopf.Registry) { kopf.OnCreate(r, kex, (&app{}).create) }, "create"},
		"method of a value":   {func(r *kopf.Registry) { kopf.OnCreate(r, kex, app{}.byValue) }, "byValue"},
		"interface method":    {func(r *kopf.Registry) { kopf.OnCreate(r, kex, creator(&app{}).create) }, "create"},
		"generic function":    {func(r *kopf.Registry) { kopf.OnCreate(r, kex, instance[app]) }, "instance"},
		"generic method":      {func(r *kopf.Registry) { kopf.OnCreate(r, kex, (&generic[app]{}).handle) }, "handle"},
		"literal with an id":  {func(r *kopf.Registry) { kopf.OnCreate(r, kex, variable, kopf.ID("mine")) }, "mine"},
		"with a field":        {func(r *kopf.Registry) { kopf.OnUpdate(r, kex, func1, kopf.Field("spec.size")) }, "func1/spec.size"},
		"of a field":          {func(r *kopf.Registry) { kopf.OnField(r, kex, "spec.size", onSize) }, "onSize/spec.size"},
		"of a field, with id": {func(r *kopf.Registry) { kopf.OnField(r, kex, "spec.size", onSize, kopf.ID("mine")) }, "mine/spec.size"},
	} {
		t.Run(name, func(t *testing.T) {
			var r kopf.Registry
			test.register(&r)
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			h := kopftest.Handlers(&r)[0]
			if h.ID != test.want {
				t.Errorf("got the id %q, want %q", h.ID, test.want)
			}
			if !strings.Contains(h.Source, "kopf/registry_test.go:") {
				t.Errorf("got the source %q", h.Source)
			}
		})
	}
}

func TestRegistry_LiteralNeedsID(t *testing.T) {
	for name, register := range map[string]func(r *kopf.Registry){
		"literal": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func(context.Context, *change) error { return nil })
		},
		"closure":               func(r *kopf.Registry) { kopf.OnCreate(r, kex, closure(func() {})) },
		"literal in a variable": func(r *kopf.Registry) { kopf.OnCreate(r, kex, variable) },
		"literal in a loop over a function": func(r *kopf.Registry) {
			for range twice {
				kopf.OnCreate(r, kex, func(context.Context, *change) error { return nil })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var r kopf.Registry
			register(&r)
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), `add kopf.ID("...")`) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRegistry_RejectsFilterOfOtherFamily(t *testing.T) {
	daemon := func(context.Context, *kopf.DaemonRun[app]) error { return nil }
	for want, register := range map[string]func(r *kopf.Registry){
		"takes a *kopf.Event[": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.When(func(context.Context, *kopf.Event[kopf.Object]) bool { return true }))
		},
		"takes a *kopf.DaemonRun[": func(r *kopf.Registry) {
			kopf.Daemon(r, kex, daemon, kopf.ID("d"), kopf.When(func(context.Context, *kopf.DaemonRun[app]) bool { return true }))
		},
		"takes a *kopf.Activity": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.When(func(context.Context, *kopf.Activity) bool { return true }))
		},
		"": func(r *kopf.Registry) {
			kopf.Daemon(r, kex, daemon, kopf.ID("d"), kopf.When(func(context.Context, *kopf.Request) bool { return true }), kopf.When(func(context.Context, *app) bool { return true }))
		},
	} {
		var r kopf.Registry
		register(&r)
		if err := r.Err(); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestRegistry_ErrHasAllMistakesWithLines(t *testing.T) {
	var r kopf.Registry
	kopf.OnCreate(&r, kopf.Resource("a", "b", "c", "d"), func1)
	kopf.OnCreate(&r, kex, variable)
	kopf.OnCreate(&r, kex, func1, kopf.Labels{"a": 5})
	kopf.OnCreate(&r, kex, func1)
	kopf.OnCreate(&r, kex, instance[app], kopf.RetryDelay(10))
	kopf.OnCreate(&r, kex, instance[creator])
	mistakes := strings.Split(r.Err().Error(), "\n")
	if len(mistakes) != 6 {
		t.Fatalf("got %d mistakes:\n%v", len(mistakes), r.Err())
	}
	first := lineOf(t, mistakes[0])
	for i, mistake := range mistakes {
		if got := lineOf(t, mistake); got != first+i {
			t.Errorf("line %d: got %s", first+i, mistake)
		}
	}
	operator := kopf.Operator{Registry: &r}
	if err := operator.Run(t.Context()); !errors.Is(err, kopf.ErrRegistration) || !strings.Contains(err.Error(), mistakes[5]) {
		t.Errorf("the operator has started with mistakes: %v", err)
	}
}

func lineOf(t *testing.T, mistake string) (line int) {
	t.Helper()
	if _, err := fmt.Sscanf(mistake, "kopf/registry_test.go:%d: OnCreate:", &line); err != nil {
		t.Fatalf("%s: %v", mistake, err)
	}
	return line
}

func TestRegistry_MistakesAreDescribed(t *testing.T) {
	for want, register := range map[string]func(r *kopf.Registry){
		"RetryDelay(10) is 10ns: did you mean 10*time.Second?": func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.RetryDelay(10)) },
		"GrowingRetryDelay(10) is 10ns: did you mean": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.GrowingRetryDelay(10, time.Minute))
		},
		"GrowingRetryDelay(0, 1m0s) would retry at once": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.GrowingRetryDelay(0, time.Minute))
		},
		"GrowingRetryDelay(1h0m0s, 1m0s): want the first delay": func(r *kopf.Registry) {
			kopf.OnDelete(r, kex, func1, kopf.GrowingRetryDelay(time.Hour, time.Minute))
		},
		"GrowingRetryDelay(-1m0s): want a duration that is not negative": func(r *kopf.Registry) {
			kopf.OnStartup(r, func(context.Context, *kopf.Activity) error { return nil }, kopf.ID("s"), kopf.GrowingRetryDelay(time.Second, -time.Minute))
		},
		"Limit(0): want at least 1": func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.Limit(0)) },
		"Rate(0, 1s): want at least 1 call": func(r *kopf.Registry) {
			kopf.OnUpdate(r, kex, func1, kopf.Limit(1).Rate(0, time.Second))
		},
		"Rate(1, 0s): want a period that is positive": func(r *kopf.Registry) {
			kopf.OnDelete(r, kex, func1, kopf.Limit(1).Rate(1, 0))
		},
		"Rate(10) is 10ns: did you mean 10*time.Second?": func(r *kopf.Registry) {
			kopf.OnResume(r, kex, func1, kopf.Limit(1).Rate(1, 10))
		},
		"Rate is given twice; keep one": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.Limit(1).Rate(1, time.Second).Rate(2, time.Second))
		},
		"Limit is given twice; keep one": func(r *kopf.Registry) {
			kopf.OnField(r, kex, "spec.a", onSize, kopf.Limit(1), kopf.Limit(2))
		},
		"the Limiter is nil; make one with kopf.Limit": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, (*kopf.Limiter)(nil))
		},
		"OnCreate: RetryDelay and GrowingRetryDelay are both given; keep one": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.RetryDelay(time.Second), kopf.GrowingRetryDelay(time.Second, time.Minute))
		},
		"OnUpdate: RetryDelay and GrowingRetryDelay are both given; keep one": func(r *kopf.Registry) {
			kopf.OnUpdate(r, kex, func1, kopf.GrowingRetryDelay(time.Second, time.Minute), kopf.RetryDelay(time.Second))
		},
		"TotalTimeout(999999) is 999.999µs: did you mean": func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.TotalTimeout(999999)) },
		"TotalTimeout(-1s): want a duration":              func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.TotalTimeout(-time.Second)) },
		"AttemptTimeout(0) would cancel each call":        func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.AttemptTimeout(0)) },
		"Attempts(0): want at least 1":                    func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.Attempts(0)) },
		"ID is empty":                                     func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.ID("")) },
		`label "a": want a string, Present, Absent`:       func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.Labels{"a": 5}) },
		`label "a" is a string, which does not decode into the int`: func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.Labels{"a": kopf.Where(func(context.Context, int) bool { return true })})
		},
		`label "a" is a string, which does not decode into the float64`: func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.Labels{"a": kopf.WhereWith(func(context.Context, float64, *kopf.Request) bool { return true })})
		},
		"the function takes a *kopf.Event[github.com/kopf-dev/kopf/sdk/kopf.Object], but the handler's request is a *kopf.Change": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.Labels{"a": kopf.WhereWith(func(context.Context, string, *kopf.Event[kopf.Object]) bool { return true })})
		},
		`label "b": the function of Where is nil`: func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.Labels{"b": kopf.WhereWith[string, kopf.Request](nil)})
		},
		`annotation "a" is a string, which does not decode into the map[string]string`: func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.Annotations{"a": kopf.Where(func(context.Context, map[string]string) bool { return true })})
		},
		`label "a" has two conditions; keep one`:         func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.Labels{"a": "b"}, kopf.Labels{"a": "c"}) },
		`annotation "a": want a string, Present, Absent`: func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.Annotations{"a": nil}) },
		"the field is empty":                             func(r *kopf.Registry) { kopf.OnField(r, kex, "", onSize) },
		"a handler has one field":                        func(r *kopf.Registry) { kopf.OnField(r, kex, "spec.a", onSize, kopf.Field("spec.b")) },
		"a value is checked without a field":             func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.Value("x")) },
		"both in any state and in the old or the new one": func(r *kopf.Registry) {
			kopf.OnField(r, kex, "spec.a", onSize, kopf.Value("x"), kopf.From("y"))
		},
		"the handler is nil":            func(r *kopf.Registry) { kopf.OnCreate[kopf.Object](r, kex, nil) },
		"OnDelete: the handler is nil":  func(r *kopf.Registry) { kopf.OnDelete[kopf.Object](r, kex, nil, kopf.ID("x")) },
		"Daemon: the handler is nil":    func(r *kopf.Registry) { kopf.Daemon[kopf.Object](r, kex, nil, kopf.ID("x")) },
		"OnStartup: the handler is nil": func(r *kopf.Registry) { kopf.OnStartup(r, nil, kopf.ID("x")) },
		"NewIndex: the handler is nil": func(r *kopf.Registry) {
			kopf.NewIndex[kopf.Object, string, int](r, kex, nil, kopf.ID("x"))
		},
		"the function of When is nil": func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.When[kopf.Object](nil)) },
		`Value: the function of Where is nil`: func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.Field("spec.x"), kopf.Value(kopf.Where[string](nil)))
		},
		`label "a": the function of Where is nil`: func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.Labels{"a": kopf.Where[string](nil)})
		},
		`the id "größe" has the character 'ö', which annotation names cannot have; use letters and digits of ASCII`: func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, größe)
		},
		`the id "_private" begins with '_'`:        func(r *kopf.Registry) { kopf.OnCreate(r, kex, _private) },
		`the id "two words" has the character ' '`: func(r *kopf.Registry) { kopf.OnEvent(r, kex, onEvent, kopf.ID("two words")) },
		`the id "touch-dummy" is the name of an`:   func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.ID("touch-dummy")) },
		`the id "onSize/data.my key" has the character ' '`: func(r *kopf.Registry) {
			kopf.OnField(r, kex, "data[my key]", onSize)
		},
		"want a name such as": func(r *kopf.Registry) { kopf.OnCreate(r, kopf.Resource(), func1) },
		"the selector":        func(r *kopf.Registry) { kopf.OnCreate(r, kopf.Selector{}, func1) },
		"handler \"func1\" is already registered at kopf/registry_test.go:": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1)
			kopf.OnCreate(r, kex, func1)
		},
		"handler \"same\" is already registered at kopf/registry_test.go:": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.ID("same"), kopf.Labels{"a": "b"})
			kopf.OnCreate(r, kex, func1, kopf.ID("same"), kopf.Labels{"a": "b"}, kopf.Param(1))
		},
		"with another function; give each an id of its own": func(r *kopf.Registry) {
			for _, zone := range []string{"north", "south"} {
				fn := func(_ context.Context, c *kopf.Change[kopf.Object]) error { c.Result = zone; return nil }
				kopf.OnCreate(r, kex, fn, kopf.ID("create"), kopf.Labels{"zone": zone})
			}
		},
		"handler \"a.b\" would keep its progress in the same annotation as handler \"a/b\" at kopf/registry_test.go:": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.ID("a/b"))
			kopf.OnUpdate(r, kex, func1, kopf.ID("a.b"))
		},
		"the function takes a *kopf.Event[": func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.When(func(context.Context, *kopf.Event[kopf.Object]) bool { return true }))
		},
		"ErrorsMode(7) is not one of": func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1, kopf.ErrorsMode(7)) },
		"Reasons() names no reason":   func(r *kopf.Registry) { kopf.OnField(r, kex, "spec.a", onSize, kopf.Reasons()) },
		`Reasons("noop"): want`:       func(r *kopf.Registry) { kopf.OnField(r, kex, "spec.a", onSize, kopf.Reasons("noop")) },
		"Value(":                      func(r *kopf.Registry) { kopf.OnField(r, kex, "spec.a", onSize, kopf.Value(make(chan int))) },
	} {
		t.Run(want, func(t *testing.T) {
			var r kopf.Registry
			register(&r)
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRegistry_FunctionWithOtherFilters(t *testing.T) {
	var r kopf.Registry
	literal := func(context.Context, *kopf.Change[kopf.Object]) error { return nil }
	isNew := func(context.Context, *kopf.Request) bool { return true }
	kopf.OnCreate(&r, kex, func1, kopf.Labels{"tier": "gold"}, kopf.Param(1))
	kopf.OnCreate(&r, kex, func1, kopf.Labels{"tier": "silver"}, kopf.Param(2))
	kopf.OnCreate(&r, kex, func1, kopf.Annotations{"a": kopf.Present})
	kopf.OnCreate(&r, kex, func1, kopf.When(isNew))
	kopf.OnCreate(&r, kex, func1, kopf.When(isNew), kopf.Labels{"tier": "gold"})
	kopf.OnCreate(&r, kex, literal, kopf.ID("literal"), kopf.Labels{"tier": "gold"})
	kopf.OnCreate(&r, kex, literal, kopf.ID("literal"), kopf.Labels{"tier": "silver"})
	kopf.OnUpdate(&r, kex, func1, kopf.Field("spec.a"), kopf.To("x"))
	kopf.OnUpdate(&r, kex, func1, kopf.Field("spec.a"), kopf.From("x"))
	kopf.OnUpdate(&r, kex, func1, kopf.Field("spec.a"), kopf.Value(kopf.Absent))
	kopf.OnField(&r, kex, "spec.a", onSize, kopf.Reasons(kopf.ReasonCreate))
	kopf.OnField(&r, kex, "spec.a", onSize, kopf.Reasons(kopf.ReasonDelete))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestRegistry_FunctionForSeveralReasonsAndResources(t *testing.T) {
	var r kopf.Registry
	kopf.OnCreate(&r, kex, func1)
	kopf.OnResume(&r, kex, func1)
	kopf.OnCreate(&r, kopf.Resource("v1", "pods"), func1)
	kopf.OnUpdate(&r, kex, func1, kopf.Field("spec.a"))
	kopf.OnUpdate(&r, kex, func1, kopf.Field("spec.b"), kopf.Param("b"))
	kopf.OnDelete(&r, kex, func1, kopf.WithoutFinalizer())
	kopf.OnEvent(&r, kex, onEvent)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, h := range kopftest.Handlers(&r) {
		kinds = append(kinds, h.Kind+" "+h.ID)
	}
	if got, want := strings.Join(kinds, ", "), "create func1, resume func1, create func1, update func1/spec.a, update func1/spec.b, delete func1, event onEvent"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestRegistry_OptionGivenTwiceIsMistake(t *testing.T) {
	fn := func(context.Context, *kopf.DaemonRun[kopf.Object]) error { return nil }
	tick := func(context.Context, *kopf.TimerTick[kopf.Object]) error { return nil }
	update := func(opts ...kopf.UpdateOption) func(*kopf.Registry) {
		return func(r *kopf.Registry) { kopf.OnUpdate(r, kex, func1, opts...) }
	}
	field := kopf.Field("spec.a")
	for want, register := range map[string]func(*kopf.Registry){
		"ID":                update(kopf.ID("a"), kopf.ID("b")),
		"Param":             update(kopf.Param(1), kopf.Param(2)),
		"Attempts":          update(kopf.Attempts(1), kopf.Attempts(2)),
		"RetryDelay":        update(kopf.RetryDelay(time.Second), kopf.RetryDelay(time.Minute)),
		"GrowingRetryDelay": update(kopf.GrowingRetryDelay(time.Second, time.Minute), kopf.GrowingRetryDelay(time.Second, time.Hour)),
		"TotalTimeout":      update(kopf.TotalTimeout(time.Second), kopf.TotalTimeout(time.Minute)),
		"ErrorsMode":        update(kopf.ErrorsIgnored, kopf.ErrorsTemporary),
		"Value":             update(field, kopf.Value(1), kopf.Value(2)),
		"From":              update(field, kopf.From(1), kopf.From(2)),
		"To":                update(field, kopf.To(1), kopf.To(2)),
		"Reasons": func(r *kopf.Registry) {
			kopf.OnField(r, kex, "spec.a", onSize, kopf.Reasons(kopf.ReasonCreate), kopf.Reasons(kopf.ReasonUpdate))
		},
		"WithoutFinalizer": func(r *kopf.Registry) { kopf.OnDelete(r, kex, func1, kopf.WithoutFinalizer(), kopf.WithoutFinalizer()) },
		"IncludeDeleting":  func(r *kopf.Registry) { kopf.OnResume(r, kex, func1, kopf.IncludeDeleting(), kopf.IncludeDeleting()) },
		"Interval": func(r *kopf.Registry) {
			kopf.Timer(r, kex, tick, kopf.ID("t"), kopf.Interval(time.Second), kopf.Interval(time.Minute))
		},
		"FixedRate": func(r *kopf.Registry) {
			kopf.Timer(r, kex, tick, kopf.ID("t"), kopf.Interval(time.Second), kopf.FixedRate(), kopf.FixedRate())
		},
		"Idle": func(r *kopf.Registry) {
			kopf.Timer(r, kex, tick, kopf.ID("t"), kopf.Idle(time.Second), kopf.Idle(time.Minute))
		},
		"InitialDelay": func(r *kopf.Registry) {
			kopf.Daemon(r, kex, fn, kopf.ID("d"), kopf.InitialDelay(time.Second), kopf.InitialDelay(time.Minute))
		},
		"Cancellation": func(r *kopf.Registry) {
			kopf.Daemon(r, kex, fn, kopf.ID("d"), kopf.Cancellation{Timeout: time.Second}, kopf.Cancellation{Timeout: time.Minute})
		},
	} {
		var r kopf.Registry
		register(&r)
		if err := r.Err(); err == nil || strings.Count(err.Error(), want+" is given twice; keep one") != 1 {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

func TestWhere_OnLabelsTakesWhatDecodesFromText(t *testing.T) {
	var r kopf.Registry
	kopf.OnCreate(&r, kex, func1, kopf.Labels{
		"a": kopf.Where(func(context.Context, string) bool { return true }),
		"b": kopf.Where(func(context.Context, *string) bool { return true }),
		"c": kopf.Where(func(context.Context, any) bool { return true }),
		"d": kopf.Where(func(context.Context, time.Time) bool { return true }),
		"e": kopf.Where(func(context.Context, kopf.Reason) bool { return true }),
	})
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}
