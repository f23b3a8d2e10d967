package kopf

import (
	"fmt"
	"maps"
	"reflect"
	"runtime"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Labels is a filter by labels. A value is a string, [Present], [Absent], or [Where]
// of a func(string) bool; anything else is a mistake in the registration. All labels must
// match, those of several Labels too; a label that is asked for twice is a mistake. See the
// chapter "Filtering" of Kopf's documentation for all filters.
//
//	kopf.OnCreate(r, pods, fn, kopf.Labels{"tier": "gold", "paused": kopf.Absent})
type Labels map[string]any

// Annotations is a filter by annotations, with the values and the rules of [Labels].
type Annotations map[string]any

// Field is a filter by a field: it must be there, unless [Value] says otherwise;
// for updates, it must also be affected by the change. The field becomes part of
// the handler's id. The request stays that of the whole object: for the old and new
// values of the field itself, see [OnField].
func Field(path string) FilterOption {
	return option(func(c *config) {
		p, err := object.ParsePath(path)
		c.fieldOf(path, p, err)
	})
}

// fieldOf sets the field of a handler.
func (c *config) fieldOf(notation string, path object.Path, err error) {
	switch {
	case err != nil:
		c.fail("%v", err)
	case len(path) == 0:
		c.fail("the field is empty: name one, such as \"spec.size\"")
	case len(c.Field) > 0:
		c.fail("the field %q: there is the field %q already", notation, c.Field)
	}
	c.Field = path
}

// Value is the value that the [Field] must have: anything that json can encode, but not
// null, [Present], [Absent], or [Where]. For updates, either the old or the new value
// must match. The default is Present.
func Value(want any) FilterOption {
	return option(func(c *config) { c.Value = c.criterion("Value", want) })
}

// From is the value that the [Field] had before the update, as in [Value], which it
// excludes. The default is any, or none.
func From(want any) UpdateOption {
	return option(func(c *config) { c.Old = c.criterion("From", want) })
}

// To is the value that the [Field] has after the update, as in [Value], which it
// excludes. The default is any, or none.
func To(want any) UpdateOption {
	return option(func(c *config) { c.New = c.criterion("To", want) })
}

// A Criterion is a check of one value, where a plain value does not do.
type Criterion struct{ criterion handlers.Criterion }

var (
	// Present accepts any value that is there. An empty string is.
	Present = Criterion{handlers.Present}
	// Absent accepts a value that is not there.
	Absent = Criterion{handlers.Absent}
)

// Where accepts the values that decode into V and that f accepts. An absent value
// is the zero V. It is called by many goroutines at the same time.
func Where[V any](f func(V) bool) Criterion {
	return Criterion{handlers.FuncCriterion(funcName(f), func(value any, _ bool) bool {
		var v V
		if err := decodeValue(value, "", &v); err != nil {
			return false
		}
		return f(v)
	})}
}

func (c *config) criterion(name string, want any) *handlers.Criterion {
	if criterion, ok := want.(Criterion); ok {
		return &criterion.criterion
	}
	criterion, err := handlers.EqualCriterion(want)
	if err != nil {
		c.fail("%s(%v): %v", name, want, err)
	}
	return &criterion
}

// When is a filter by a function of the object, or of the request if it needs
// more: A is the handler's object type, [Object], [Request], or the type of the
// handler's own request, such as Change[Claim]. For a daemon, it is not DaemonRun
// but Request.
//
//	kopf.When(func(c *Claim) bool { return c.Spec.Size != "" })
//	kopf.When(func(r *kopf.Request) bool { return r.Namespace != "default" })
//
// It must not modify what it is given, and should have no effects: it is called more
// often than the handler, and by many goroutines at the same time. An object that does not
// decode into A does not match. The request is as known before a handler is chosen: its Patch
// and Recorder are nil, its Logger is silent, and nothing is attempted yet.
func When[A any](f func(*A) bool) FilterOption {
	return option(func(c *config) {
		c.whens = append(c.whens, when{
			name: funcName(f),
			arg:  reflect.TypeFor[A](),
			build: func(request requestMaker) func(*handlers.Cause) bool {
				view := viewOf[A](request)
				return func(cause *handlers.Cause) bool {
					a, err := view(cause)
					return err == nil && f(a)
				}
			},
		})
	})
}

// Not is true where f is false: for [When] and [Where], as the following.
func Not[A any](f func(A) bool) func(A) bool { return func(a A) bool { return !f(a) } }

// All is true where all of fs are, and where there are none. The first that is false
// is the last that is called.
func All[A any](fs ...func(A) bool) func(A) bool {
	return func(a A) bool {
		for _, f := range fs {
			if !f(a) {
				return false
			}
		}
		return true
	}
}

// Any is true where at least one of fs is. The first that is true is the last that is
// called.
func Any[A any](fs ...func(A) bool) func(A) bool {
	return func(a A) bool {
		for _, f := range fs {
			if f(a) {
				return true
			}
		}
		return false
	}
}

// None is true where none of fs is.
func None[A any](fs ...func(A) bool) func(A) bool { return Not(Any(fs...)) }

// meta adds to the criteria of labels or of annotations.
func (c *config) meta(kind string, criteria map[string]handlers.Criterion, wanted map[string]any) map[string]handlers.Criterion {
	all := maps.Clone(criteria)
	if all == nil {
		all = make(map[string]handlers.Criterion, len(wanted))
	}
	for name, want := range wanted {
		if _, twice := all[name]; twice {
			c.fail("%s %q is asked for twice", kind, name)
		}
		switch want := want.(type) {
		case string:
			all[name] = handlers.EqualStringCriterion(want)
		case Criterion:
			all[name] = want.criterion
		default:
			c.fail("%s %q: want a string, Present, Absent or Where(func(string) bool), got %T", kind, name, want)
		}
	}
	return all
}

func (l Labels) apply(c *config)      { c.Labels = c.meta("label", c.Labels, l) }
func (a Annotations) apply(c *config) { c.Annotations = c.meta("annotation", c.Annotations, a) }

func (l Labels) create(c *config) { l.apply(c) }
func (l Labels) update(c *config) { l.apply(c) }
func (l Labels) delete(c *config) { l.apply(c) }
func (l Labels) resume(c *config) { l.apply(c) }
func (l Labels) event(c *config)  { l.apply(c) }
func (l Labels) daemon(c *config) { l.apply(c) }
func (l Labels) timer(c *config)  { l.apply(c) }
func (l Labels) index(c *config)  { l.apply(c) }

func (a Annotations) create(c *config) { a.apply(c) }
func (a Annotations) update(c *config) { a.apply(c) }
func (a Annotations) delete(c *config) { a.apply(c) }
func (a Annotations) resume(c *config) { a.apply(c) }
func (a Annotations) event(c *config)  { a.apply(c) }
func (a Annotations) daemon(c *config) { a.apply(c) }
func (a Annotations) timer(c *config)  { a.apply(c) }
func (a Annotations) index(c *config)  { a.apply(c) }

// funcName names a function for a person: "isShrink", or its place for a literal.
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
