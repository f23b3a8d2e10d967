package kopf

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reviews"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/webhook"
)

func init() {
	bridge.AddError = func(registry any, file string, line int, registrar string, problem error) {
		if r := registry.(*Registry); r != nil {
			r.addError(file, line, registrar, problem)
		}
	}
}

// Registry is a list of handlers, filled by functions such as [OnCreate] and run by an
// [Operator] or [Main]. The zero value is an empty registry. It is not safe for concurrent use,
// and must not be changed while an operator runs it.
type Registry struct {
	// Prefix is the prefix of all annotations that the operator keeps on objects, such as "claims.example.com". The
	// finalizer is then the prefix with "/finalizer". Operators that handle the same objects need different prefixes. If
	// the prefix of an operator changes, the operator regards all objects as new. The finalizer and the storages of
	// [PersistenceSettings] take precedence. Defaults to "kopf.zalando.org".
	Prefix string

	registry handlers.Registry
	handlers []registration
	errs     []error

	// Each of the following fields is nil unless a handler needs it, so that the linker omits unused code.
	passes     func(*core.Deps) core.Passes
	conditions func(*core.Deps) core.Conditions
	limits     func(*core.Deps) core.CallLimits
	versions   func(h, other *handlers.Handler, source string) error // see [compareVersions]
	admission  reviews.NewControl
	listener   func(*webhook.Server) webhook.Listener
}

// Err returns all registration errors so far, each with its file and line, or nil. An operator with registration
// errors does not start.
func (r *Registry) Err() error {
	return errors.Join(append(slices.Clip(r.errs), r.undoMistakes()...)...)
}

func (r *Registry) addError(file string, line int, registrar string, problem error) {
	r.errs = append(r.errs, fmt.Errorf("%s: %s: %w", shortSource(file, line), registrar, problem))
}

// registration describes a handler in errors about conflicts with other handlers.
type registration struct {
	ID       string   // id of the handler, with its field if it has one: "resize/spec.size"
	Kind     string   // "create", "field", "event", ...
	Selector Selector // empty for activities
	Source   string   // folder/file:line of the registration
}

// add registers a handler and returns its id. Only public functions may call it directly, because it reports the caller of
// its caller as the source of the registration.
func add(r *Registry, family handlers.Family, sel Selector, fn any, call caller, c *config) (id string) {
	_, file, line, _ := runtime.Caller(2)
	c.bind(call.request)
	h := c.Handler
	h.Family, h.Fn, h.Invoke, h.ObjectKind, h.ObjectType = family, funcKey(fn), call.engine(), call.kind, call.typ
	h.Source = fmt.Sprintf("%s:%d", file, line)
	registrar := registrars[family]
	if h.Undoes != nil {
		registrar = "OnUndo"
	}
	fail := func(format string, args ...any) {
		r.addError(file, line, registrar, fmt.Errorf(format, args...))
	}

	name, err := c.idOf(fn)
	if err != nil {
		fail("%v", err)
	}
	h.ID = handlers.MakeID(family, "", name, h.Field)
	var selErr error
	if family.Group() != handlers.Activities {
		h.Selector, selErr = sel.engine()
	}
	if selErr != nil {
		fail("%v", selErr)
	} else if err := h.Validate(); err != nil && name != "" {
		fail("%v", err)
	}
	for _, mistake := range c.errs {
		fail("%s", mistake)
	}
	if c.versions != nil {
		r.versions = c.versions
	}
	for i, o := range r.handlers {
		if family == handlers.Reconcile && o.Kind == string(family) && o.Selector == sel {
			fail("%s has a reconcile handler already, at %s; a resource has at most one", sel, o.Source)
			continue
		}
		if name != "" && o.Selector == sel && h.SharesAnnotation(r.registry.All()[i]) {
			fail("handler %q would keep its progress in the same annotation as handler %q at %s; give either handler another id", h.ID, o.ID, o.Source)
		}
		if r.versions != nil && name != "" && o.Selector == sel {
			if err := r.versions(&h, r.registry.All()[i], o.Source); err != nil {
				fail("%v", err)
			}
		}
		if name == "" || family.Group() == handlers.Admission || o.Kind != string(family) || o.Selector != sel || !h.Clashes(r.registry.All()[i]) {
			continue
		}
		if h.Fn == r.registry.All()[i].Fn {
			fail("handler %q is already registered at %s for the same objects; remove one, or give them different filters or ids", h.ID, o.Source)
		} else {
			fail("handler %q is already registered at %s with another function; give each an id of its own", h.ID, o.Source)
		}
	}
	for i, o := range r.registry.All() {
		if name != "" && family.Group() == handlers.Admission && o.Family.Group() == family.Group() && o.ID == h.ID {
			fail("handler %q is already registered at %s; each admission handler has a webhook of its own: give one another id with kopf.ID", h.ID, r.handlers[i].Source)
		}
		if family == handlers.Index && o.Family == family && o.ID == h.ID && !sameIndex(o, &h) {
			fail("index %q is already registered at %s with other types of keys or values", h.ID, r.handlers[i].Source)
		}
	}
	if c.limits != nil {
		r.limits = c.limits
	}
	r.handlers = append(r.handlers, registration{ID: h.ID, Kind: string(family), Selector: sel, Source: shortSource(file, line)})
	r.registry.Add(&h)
	return h.ID
}

// registrars are the names of the registering functions in error messages.
var registrars = map[handlers.Family]string{
	handlers.Create: "OnCreate",
	handlers.Update: "OnUpdate",
	handlers.Delete: "OnDelete",
	handlers.Resume: "OnResume",
	handlers.Field:  "OnField",
	handlers.Event:  "OnEvent",
	handlers.Daemon: "Daemon",
	handlers.Timer:  "Timer",
	handlers.Index:  "NewIndex",

	handlers.Reconcile: "OnReconcile",

	handlers.Validate: "OnValidate",
	handlers.Mutate:   "OnMutate",

	handlers.Startup: "OnStartup",
	handlers.Cleanup: "OnCleanup",
	handlers.Probe:   "OnProbe",
	handlers.Login:   "OnLogin",
}

var errNilHandler = errors.New("the handler is nil")

// idOf returns the id of the option ID or, without it, the name of the function.
func (c *config) idOf(fn any) (string, error) {
	if reflect.ValueOf(fn).IsNil() {
		return "", errNilHandler
	}
	if c.id != "" {
		return c.id, nil
	}
	name := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
	if id, ok := idOf(name); ok {
		return id, nil
	}
	return "", fmt.Errorf("the handler is a function literal (%s) without a lasting name; add kopf.ID(\"...\") or use a named function", name)
}

// funcKey identifies a function, so that a function with two matching registrations is called once. A method has the same
// key for all receivers. A function literal has a different key each time it is evaluated.
func funcKey(fn any) any {
	v := reflect.ValueOf(fn)
	if v.IsNil() {
		return nil
	}
	if _, named := idOf(runtime.FuncForPC(v.Pointer()).Name()); named {
		return v.Pointer()
	}
	variable := reflect.New(v.Type())
	variable.Elem().Set(v)
	return *(*unsafe.Pointer)(variable.UnsafePointer()) // the closure with the captured variables
}

var literal = regexp.MustCompile(`\.(func\d+|gowrap\d+|\d+|init\.\d+|glob\.)(\.|$)|-range\d+`)

// idOf returns the name of a function or method; false for a function literal.
func idOf(name string) (string, bool) {
	name = name[strings.LastIndex(name, "/")+1:] // the import path may have dots
	_, name, _ = strings.Cut(name, ".")          // the package
	name = strings.TrimSuffix(name, "-fm")       // a method value
	name = strings.TrimSuffix(name, "[...]")     // an instance of a generic function
	name = strings.ReplaceAll(name, "[...]", "") // a method of a generic type
	if strings.HasPrefix(name, "init.") || literal.MatchString("."+name) && strings.Contains(name, ".") {
		return "", false
	}
	return name[strings.LastIndex(name, ".")+1:], true
}

// shortSource returns the folder, file and line of a place in the code.
func shortSource(file string, line int) string {
	return fmt.Sprintf("%s:%d", filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file)), line)
}
