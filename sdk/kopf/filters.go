package kopf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Labels is a filter on labels. A value is a string, [Present], [Absent], or [Where] or [WhereWith] with a function
// of a string; any other value is a registration error. All labels must match. Several Labels options are combined; two
// conditions on the same label are a registration error. See [Filters].
//
//	kopf.OnCreate(r, pods, fn, kopf.Labels{"tier": "gold", "paused": kopf.Absent})
//
// [Filters]: https://github.com/kopf-dev/kopf/blob/main/docs/filters.md
type Labels map[string]any

// Annotations is a filter on annotations, with the values and rules of [Labels].
type Annotations map[string]any

// Field is a filter on a field: the field must be present, unless [Value] permits its absence. For updates, the field must
// also have changed. The field becomes part of the handler's id. The handler still receives the request for the whole
// object, with the Old and Diff of the object; [OnField] has the Old and Diff of the field.
func Field(path Path) FilterOption {
	return option(func(c *config) {
		p, err := path.fixed()
		c.fieldOf(path, p, err)
	})
}

// fieldOf sets the field of a handler.
func (c *config) fieldOf(notation Path, path object.Path, err error) {
	switch {
	case err != nil:
		c.fail("%v", err)
	case len(path) == 0:
		c.fail("the field is empty; name one, such as \"spec.size\"")
	case len(c.Field) > 0:
		c.fail("the fields %q and %q: a handler has one field; keep one", c.Field, notation)
	}
	c.Field = path
}

// Value is the value that the [Field] must have: anything that encodes as JSON except null,
// or [Present], [Absent], [Where] or [WhereWith]. For updates, the old or the new value must match. Defaults
// to [Present].
func Value(want any) FilterOption {
	return once("Value", func(c *config) { c.Value = c.criterion("Value", want) })
}

// From matches the old value of [Field]. It accepts the same values as [Value], and cannot be combined with it.
// Defaults to any value, including an absent one.
func From(want any) UpdateOption {
	return once("From", func(c *config) { c.Old = c.criterion("From", want) })
}

// To matches the new value of [Field]. It accepts the same values as [Value], and cannot be combined with it.
// Defaults to any value, including an absent one.
func To(want any) UpdateOption {
	return once("To", func(c *config) { c.New = c.criterion("To", want) })
}

// Criterion is a condition on one value: [Present], [Absent], [Where] or [WhereWith].
type Criterion struct {
	criterion handlers.Criterion
	with      *where // function of [WhereWith]; its member set is nil
	notText   string // type of the function's argument if no string decodes into it; otherwise empty
	missing   bool   // the function is nil
}

var (
	// Present accepts any value, even an empty one.
	Present = Criterion{criterion: handlers.Present}
	// Absent accepts only the absence of a value.
	Absent = Criterion{criterion: handlers.Absent}
)

// Where accepts the values that decode into V and for which f returns true. For an absent value, f gets the zero
// value. The context of f is the same as for [When]. f must be safe for concurrent use.
func Where[V any](f func(context.Context, V) bool) Criterion {
	return Criterion{
		criterion: handlers.FuncCriterion(funcName(f), func(ctx context.Context, _ *handlers.Cause, value any, _ bool) bool {
			var v V
			return decodeValue(value, "", &v) == nil && f(ctx, v)
		}),
		missing: f == nil,
		notText: notText[V](),
	}
}

// WhereWith is [Where] with a function that also gets the object or the request. A is any type that [When] accepts, and
// the rules of [When] apply to the function.
//
//	kopf.Labels{"owner": kopf.WhereWith(func(_ context.Context, owner string, c *kopf.Change[Claim]) bool {
//		return owner == c.Object.Spec.Owner && c.Reason == kopf.ReasonUpdate
//	})}
func WhereWith[V, A any](f func(context.Context, V, *A) bool) Criterion {
	name := funcName(f)
	return Criterion{
		with: &where{
			name: name,
			arg:  reflect.TypeFor[A](),
			build: func(request requestMaker) handlers.Criterion {
				view := viewOf[A](request)
				return handlers.FuncCriterion(name, func(ctx context.Context, cause *handlers.Cause, value any, _ bool) bool {
					var v V
					if decodeValue(value, "", &v) != nil {
						return false
					}
					a, err := view(cause)
					return err == nil && f(ctx, v, a)
				})
			},
		},
		missing: f == nil,
		notText: notText[V](),
	}
}

// notText returns the name of a type if no string decodes into the type, otherwise an empty string.
func notText[V any]() string {
	if _, mismatch := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal([]byte(`"text"`), new(V))); mismatch {
		return reflect.TypeFor[V]().String()
	}
	return ""
}

// use returns the criterion for the handler. The criterion of [WhereWith] depends on the family of the handler. When the
// family is known, set replaces the returned criterion.
func (c *config) use(name string, criterion Criterion, set func(handlers.Criterion)) handlers.Criterion {
	if criterion.missing {
		c.fail("%s: the function of Where is nil", name)
		return criterion.criterion
	}
	if criterion.with != nil {
		w := *criterion.with
		w.set = set
		c.wheres = append(c.wheres, w)
	}
	return criterion.criterion
}

func (c *config) criterion(name string, want any) *handlers.Criterion {
	if criterion, ok := want.(Criterion); ok {
		used := new(handlers.Criterion)
		*used = c.use(name, criterion, func(bound handlers.Criterion) { *used = bound })
		return used
	}
	criterion, err := handlers.EqualCriterion(want)
	if err != nil {
		c.fail("%s(%v): %v", name, want, err)
	}
	return &criterion
}

// When is a filter with a function of the object, or of the request. A is the handler's object type, any other type
// that the object decodes into, [Object], [Request], or the type of the handler's own request, such as Change[Claim].
// Daemons have no request before they start: use [Request] instead of [DaemonRun].
//
//	kopf.When(func(_ context.Context, c *Claim) bool { return c.Spec.Size != "" })
//	kopf.When(func(ctx context.Context, r *kopf.Request) bool { return used.Get(ctx, r.Name) != nil })
//
// With the context, the function can read an [Index]. A change of an index does not call the function again; it is called
// for the next version of the object, and for a retry.
//
// The function must not modify its argument, must be safe for concurrent use, and should have no side effects, because it
// is called more often than the handler. An object that does not decode into A does not match. In the function's request,
// the Patch and the Recorder are nil, the Logger discards everything, and the Attempt is zero.
func When[A any](f func(context.Context, *A) bool) FilterOption {
	return option(func(c *config) {
		if f == nil {
			c.fail("the function of When is nil")
			return
		}
		c.whens = append(c.whens, when{
			name: funcName(f),
			arg:  reflect.TypeFor[A](),
			build: func(request requestMaker) func(context.Context, *handlers.Cause) bool {
				view := viewOf[A](request)
				return func(ctx context.Context, cause *handlers.Cause) bool {
					a, err := view(cause)
					return err == nil && f(ctx, a)
				}
			},
		})
	})
}

// meta adds the wanted conditions to the criteria of labels or annotations, and returns the criteria. The kind names them
// in errors.
func (c *config) meta(kind string, all map[string]handlers.Criterion, wanted map[string]any) map[string]handlers.Criterion {
	if all == nil {
		all = make(map[string]handlers.Criterion, len(wanted))
	}
	for name, want := range wanted {
		if _, twice := all[name]; twice {
			c.fail("%s %q has two conditions; keep one", kind, name)
		}
		switch want := want.(type) {
		case string:
			all[name] = handlers.EqualStringCriterion(want)
		case Criterion:
			all[name] = c.use(fmt.Sprintf("%s %q", kind, name), want, func(bound handlers.Criterion) { all[name] = bound })
			if want.notText != "" {
				c.fail("%s %q is a string, which does not decode into the %s that the function of Where takes; take a string", kind, name, want.notText)
			}
		default:
			c.fail("%s %q: want a string, Present, Absent or Where(func(context.Context, string) bool), got %T", kind, name, want)
		}
	}
	return all
}

func (l Labels) apply(c *config)      { c.Labels = c.meta("label", c.Labels, l) }
func (a Annotations) apply(c *config) { c.Annotations = c.meta("annotation", c.Annotations, a) }

func (l Labels) create(c *config) { l.apply(c) }
func (l Labels) update(c *config) { l.apply(c) }
func (l Labels) field(c *config)  { l.apply(c) }
func (l Labels) delete(c *config) { l.apply(c) }
func (l Labels) resume(c *config) { l.apply(c) }
func (l Labels) event(c *config)  { l.apply(c) }
func (l Labels) daemon(c *config) { l.apply(c) }
func (l Labels) timer(c *config)  { l.apply(c) }
func (l Labels) index(c *config)  { l.apply(c) }

func (l Labels) reconcile(c *config) { l.apply(c) }

func (l Labels) admission(c *config) { l.apply(c) }

func (a Annotations) create(c *config) { a.apply(c) }
func (a Annotations) update(c *config) { a.apply(c) }
func (a Annotations) field(c *config)  { a.apply(c) }
func (a Annotations) delete(c *config) { a.apply(c) }
func (a Annotations) resume(c *config) { a.apply(c) }
func (a Annotations) event(c *config)  { a.apply(c) }
func (a Annotations) daemon(c *config) { a.apply(c) }
func (a Annotations) timer(c *config)  { a.apply(c) }
func (a Annotations) index(c *config)  { a.apply(c) }

func (a Annotations) reconcile(c *config) { a.apply(c) }

func (a Annotations) admission(c *config) { a.apply(c) }

// funcName returns the name of a function for messages; for a function literal, its place in the code.
func funcName(f any) string {
	fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer())
	if fn == nil {
		return fmt.Sprintf("%T", f)
	}
	if id, ok := idOf(fn.Name()); ok {
		return id
	}
	file, line := fn.FileLine(fn.Entry())
	return shortSource(file, line)
}
