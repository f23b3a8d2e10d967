package kopf

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Patch collects changes of one object. The operator sends them after the handler returned, together with its own changes,
// in as few requests as possible. Set and Remove create a merge patch, which merges maps and replaces other values. A Patch
// is safe for concurrent use. A nil Patch, as in a request constructed in a test, discards all changes. See [Patches].
//
// [Patches]: https://github.com/kopf-dev/kopf/blob/main/docs/results-and-patches.md#patches
type Patch struct {
	patch *patch.Patch
	body  *Object
	live  func() *Object // returns the newest object of a daemon, which replaces body; nil outside of daemons
}

// newPatch returns an empty patch of an object, which [Edit] copies. A nil object counts as an empty object.
func newPatch(body *Object) *Patch { return &Patch{patch: patch.NewPatch(), body: body} }

// Set sets the value at a path to anything that encodes as JSON. It panics if the value does not encode, if the path
// is malformed, and if the path leads into a list or another value that is not a map. Set such a value as a whole, or use
// [Transform]. In a handler, a panic counts as an error.
func (p *Patch) Set(path Path, value any) {
	plain, err := object.Normalize(value)
	if err != nil {
		panic(fmt.Sprintf("kopf.Patch.Set(%q): %v", path, err))
	}
	p.set("Set", path, object.Clone(plain)) // a copy, because later calls can change the value inside of the patch
}

// Remove removes the value at a path, if it is present. It panics as [Patch.Set] does.
func (p *Patch) Remove(path Path) { p.set("Remove", path, nil) }

// SetLabel sets a label, whose name can have dots.
func (p *Patch) SetLabel(name, value string) { p.Set(PathOf("metadata", "labels", name), value) }

// SetAnnotation sets an annotation, whose name can have dots.
func (p *Patch) SetAnnotation(name, value string) {
	p.Set(PathOf("metadata", "annotations", name), value)
}

func (p *Patch) set(method string, path Path, value any) {
	where, err := path.fixed()
	if err == nil && len(where) == 0 {
		err = errors.New("the whole object cannot be replaced; set its fields")
	}
	if err == nil {
		err = p.accepts(where, value)
	}
	if err != nil {
		panic(fmt.Sprintf("kopf.Patch.%s(%q): %v", method, path, err))
	}
	if p != nil {
		p.patch.Set(where, value)
	}
}

// accepts returns an error if setting a field would destroy the value around it, or if the API server would reject
// the value of a label or an annotation. The server's rejection would come only after the handler.
func (p *Patch) accepts(where object.Path, value any) error {
	if len(where) == 3 && where[0] == "metadata" && (where[1] == "labels" || where[1] == "annotations") {
		if _, isText := value.(string); !isText && value != nil {
			return fmt.Errorf("%s are strings; got %s", where[1], jsonType(value))
		}
	}
	if p == nil || len(where) == 1 {
		return nil
	}
	at, found, err := p.barrier(where)
	if at == nil || err != nil {
		return err
	}
	return fmt.Errorf("%s is %s, which has no fields to set; set %s as a whole, or use Transform", at, jsonType(found), at)
}

// barrier returns the outermost parent of a field that is not a map, in the object with the earlier changes of the patch
// applied. It returns the path and the value of the parent; nil if all parents are maps or absent.
func (p *Patch) barrier(where object.Path) (object.Path, any, error) {
	maps := 0 // number of outer parents that are maps in the patch; they replace the object's values
	for ; maps < len(where)-1; maps++ {
		at := where[:maps+1]
		changed, ok := p.patch.Lookup(at)
		if !ok {
			break
		}
		if changed == nil {
			return nil, nil, nil
		}
		if _, isMap := changed.(map[string]any); !isMap {
			return at, changed, nil
		}
	}
	body := p.body
	if p.live != nil {
		body = p.live()
	}
	at, found, err := body.barrier(where)
	if len(at) <= maps {
		return nil, nil, err
	}
	return at, found, err
}

// jsonType returns the type of a plain JSON value, with its article.
func jsonType(value any) string {
	switch value.(type) {
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	default:
		return "a number"
	}
}

// MarshalJSON returns the changes so far as a merge patch, for logs. It does not include changes of [Transform], because
// they depend on the object at the time when they are sent.
func (p *Patch) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(p.patch.Tree())
}

// Edit calls f with a copy of the object, and adds the changes that f makes to the patch. The copy includes the earlier
// changes of the patch; for a daemon, it is the newest version. Fields that T does not have stay unchanged. A changed list
// is replaced as a whole. Edit panics if the object does not decode into T. If p is nil, f gets a zero value.
//
//	kopf.Edit(c.Patch, func(claim *Claim) { claim.Status.Phase = "Bound" })
func Edit[T any](p *Patch, f func(*T)) {
	if p == nil {
		f(new(T))
		return
	}
	changes, err := editOf(p, f)
	if err != nil {
		panic(fmt.Sprintf("kopf.Edit of a %s: %v", reflect.TypeFor[T](), err))
	}
	p.patch.Merge(changes)
}

// base returns the object to which the patch applies.
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

// changesBy returns the merge patch of the changes that a function makes to an object.
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
		return nil, fmt.Errorf("the value does not encode as a JSON object")
	}
	return patch.Between(from, to), nil
}

// Transform adds changes that depend on the object at the time when the patch is sent, such as adding to a list that other
// clients also write. The operator sends the changes as a JSON patch that applies only to one version of the object. After
// a conflict, it calls f again with the newer version, so f must have no other effects. Fields that T does not have stay
// unchanged, except inside lists, which are replaced as a whole. If the object does not decode into T, sending the patch
// fails. If p is nil, f gets a zero value.
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
