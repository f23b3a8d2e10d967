package kopf

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// A Patch collects changes to one object; the framework sends them after the
// handler, together with its own marks, in as few requests as possible. What is set
// in it is sent as a merge patch: objects are merged, anything else is replaced. It is
// safe for concurrent use; a nil Patch, as in a request made by hand, forgets
// what it is given. See the chapter "Arguments" of Kopf's documentation.
type Patch struct {
	patch *patch.Patch
	body  *Object
	live  func() *Object // of a daemon, instead of the body
}

// NewPatch returns an empty patch of an object, for tests of handlers. The object
// is what [Edit] starts from; it may be nil.
func NewPatch(body *Object) *Patch { return &Patch{patch: patch.NewPatch(), body: body} }

// Set sets the value at a path, anything that json can encode. A path that is
// malformed or leads into a list, and a value that does not encode, are mistakes in
// the program: a panic, which in a handler is an error as any other.
func (p *Patch) Set(path string, value any) {
	plain, err := object.Normalize(value)
	if err != nil {
		panic(fmt.Sprintf("kopf: Patch.Set(%q): %v", path, err))
	}
	p.set(path, object.Clone(plain)) // more is set inside of it: the value stays the caller's
}

// Remove removes the value at a path, if there is one.
func (p *Patch) Remove(path string) { p.set(path, nil) }

func (p *Patch) set(path string, value any) {
	where, err := object.ParsePath(path)
	if err == nil && len(where) == 0 {
		err = fmt.Errorf("the whole object cannot be replaced")
	}
	if err != nil {
		panic(fmt.Sprintf("kopf: Patch of %q: %v", path, err))
	}
	if p != nil {
		p.patch.Set(where, value)
	}
}

// MarshalJSON returns the changes so far as a merge patch, for logs: those of [Transform]
// are not in it, since they depend on what the object is when they are sent.
func (p *Patch) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(p.patch.Tree())
}

// Edit adds to a patch what f changes in a copy of the object. The copy has the
// earlier changes of the patch; that of a daemon is of the object as it is now. Fields
// that T does not have are kept as they are; a list is replaced as a whole.
//
//	kopf.Edit(c.Patch, func(claim *Claim) { claim.Status.Phase = "Bound" })
func Edit[T any](p *Patch, f func(*T)) {
	if p == nil {
		f(new(T))
		return
	}
	changes, err := editOf(p, f)
	if err != nil {
		panic(fmt.Sprintf("kopf: Edit of a %s: %v", reflect.TypeFor[T](), err))
	}
	p.patch.Merge(changes)
}

// base is what the changes are made to.
func (p *Patch) base() (map[string]any, error) {
	if p.live != nil {
		return p.live().contents()
	}
	return p.body.contents()
}

func editOf[T any](p *Patch, f func(*T)) (map[string]any, error) {
	body, err := p.base()
	if err != nil {
		return nil, err
	}
	return changesBy(patch.Merged(body, p.patch.Tree()), f)
}

// changesBy returns the merge patch of what a function changes in an object.
func changesBy[T any](obj map[string]any, f func(*T)) (map[string]any, error) {
	current, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	edited := new(T)
	if err := decode(current, "", edited); err != nil {
		return nil, err
	}
	before, err := object.Normalize(edited)
	if err != nil {
		return nil, err
	}
	f(edited)
	after, err := object.Normalize(edited)
	if err != nil {
		return nil, err
	}
	from, fromOK := before.(map[string]any)
	to, toOK := after.(map[string]any)
	if !fromOK || !toOK {
		return nil, fmt.Errorf("it does not encode as an object")
	}
	return patch.Between(from, to), nil
}

// Transform adds to a patch a change of the object as it is when the patch is sent, and
// not as the handler saw it: for what depends on what others write at the same time, such as
// adding to a list. It is sent as a JSON patch that applies to that version of the object or
// not at all; if the object has changed meanwhile, f is called again for the newer one. So
// f must look at what it is given, and do nothing else. Fields that T does not have are kept
// as they are, but for those inside of lists, which are replaced as a whole.
//
//	kopf.Transform(c.Patch, func(claim *Claim) { claim.Spec.Users = append(claim.Spec.Users, c.Name) })
func Transform[T any](p *Patch, f func(*T)) {
	if p == nil {
		f(new(T))
		return
	}
	p.patch.AddFn(func(object map[string]any) error {
		changes, err := changesBy(object, f)
		if err != nil {
			return fmt.Errorf("kopf.Transform of a %s: %w", reflect.TypeFor[T](), err)
		}
		patch.Apply(object, changes)
		return nil
	})
}
