// Package misuse does not compile: each line that is marked is refused, with a message
// that has the words of the mark.
package misuse

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/owner"
)

func noError(context.Context, *kopf.Change[kopf.Object])             {}
func noContext(*kopf.Change[kopf.Object]) error                      { return nil }
func event(context.Context, *kopf.Event[kopf.Object]) error          { return nil }
func byValue(context.Context, kopf.Change[kopf.Object]) error        { return nil }
func create(context.Context, *kopf.Change[kopf.Object]) error        { return nil }
func review(context.Context, *kopf.Admission[kopf.Object]) error     { return nil }
func result(context.Context, *kopf.Change[kopf.Object]) (any, error) { return nil, nil }
func index(context.Context, *kopf.IndexRequest[kopf.Object]) (map[string]string, error) {
	return nil, nil
}

// Register has all the mistakes.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kex")
	kopf.OnCreate(r, kex, noError)                                              // want: does not match
	kopf.OnCreate(r, kex, noContext)                                            // want: cannot infer T
	kopf.OnCreate(r, kex, event)                                                // want: does not match
	kopf.OnCreate(r, kex, byValue)                                              // want: does not match
	kopf.OnCreate(r, kex, result)                                               // want: does not match
	kopf.OnCreate(r, "kex", create)                                             // want: as kopf.Selector value
	kopf.OnCreate(r, kex, create, kopf.WithoutFinalizer())                      // want: missing method create
	kopf.OnCreate(r, kex, create, kopf.IncludeDeleting())                       // want: missing method create
	kopf.OnCreate(r, kex, create, kopf.From("x"))                               // want: missing method create
	kopf.OnDelete(r, kex, create, kopf.To("x"))                                 // want: missing method delete
	kopf.OnDelete(r, kex, create, kopf.Reasons())                               // want: missing method delete
	kopf.OnUpdate(r, kex, create, kopf.Reasons())                               // want: missing method update
	kopf.OnEvent(r, kex, event, kopf.Attempts(3))                               // want: missing method event
	kopf.OnEvent(r, kex, event, kopf.ErrorsIgnored)                             // want: missing method event
	kopf.OnValidate(r, kex, review, kopf.Attempts(3))                           // want: missing method admission
	kopf.OnValidate(r, kex, review, kopf.ErrorsIgnored)                         // want: missing method admission
	kopf.OnCreate(r, kex, create, kopf.Webhook{SideEffects: true})              // want: missing method create
	kopf.OnUpdate(r, kex, create, kopf.When(isBig))                             // want: does not match
	kopf.OnField(r, kex, create)                                                // want: not enough arguments
	kopf.NewIndex(r, kex, index, kopf.To("x"))                                  // want: missing method index
	kopf.NewIndex(r, kex, create)                                               // want: does not match
	owner.Adopt(map[string]any{}, &kopf.Change[kopf.Object]{}, owner.Options{}) // want: as *kopf.Object value
}

func isBig(context.Context, kopf.Object) bool { return true }

func patches(p *kopf.IndexRequest[kopf.Object]) {
	p.Patch.Set("status.indexed", true) // want: p.Patch undefined
}
