// Package planted has an operator whose handlers put secret values into every place from which they could be written.
package planted

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

type (
	tree   = map[string]any
	object = kopf.Object
	change = kopf.Change[object]
)

var (
	vaults  = kopf.Resource("planted.example.com/v1", "vaults")
	secrets = kopf.Resource("v1", "secrets")
)

// Hidden are the fields that the operator hides.
var Hidden = []kopf.Path{"spec.password", "spec.tokens", "spec.users.password"}

// Place is a place that a secret value comes from. Its object has its name, the label place=NAME, and the value in
// spec.password unless Object says otherwise.
type Place struct {
	Name string

	Object func(secret string) tree // the object; nil for a Vault with the value in spec.password
	Change func(secret string) tree // patches the object as soon as it is handled; nil for none
	Says   string                   // is in the log when the value was there; "" if nothing is logged

	Register func(r *kopf.Registry, id string, mine kopf.Labels)

	// Unreadable means that the object has the value only in broken JSON, so that texts about the object cannot be searched
	// for it.
	Unreadable bool
}

// Value returns the secret value of the place.
func (p *Place) Value() string { return "planted-" + p.Name + "-5up3r" }

// Manifest returns the object of the place.
func (p *Place) Manifest(namespace string) tree {
	o := tree{"apiVersion": "planted.example.com/v1", "kind": "Vault", "spec": tree{"password": p.Value()}}
	if p.Object != nil {
		for key, value := range p.Object(p.Value()) {
			o[key] = value
		}
	}
	metadata, _ := o["metadata"].(tree)
	if metadata == nil {
		metadata = tree{}
	}
	metadata["name"], metadata["namespace"], metadata["labels"] = p.Name, namespace, tree{"place": p.Name}
	o["metadata"] = metadata
	return o
}

// Register registers the handlers of all places.
func Register(r *kopf.Registry) {
	kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
		a.Settings.Redaction.Fields = Hidden
		return nil
	}, kopf.ID("redact"))
	for i := range Places {
		p := &Places[i]
		if p.Register != nil {
			p.Register(r, p.Name, kopf.Labels{"place": p.Name})
		}
	}
}

func password(o *object) string { return fmt.Sprint(o.Get("spec.password")) }

// creating registers a handler of creations.
func creating(fn func(context.Context, *change) error) func(*kopf.Registry, string, kopf.Labels) {
	return func(r *kopf.Registry, id string, mine kopf.Labels) {
		kopf.OnCreate(r, vaults, fn, kopf.ID(id), mine, kopf.RetryDelay(time.Hour))
	}
}

// updating registers a handler of updates, and one of creations that succeeds.
func updating(fn func(context.Context, *change) error) func(*kopf.Registry, string, kopf.Labels) {
	return func(r *kopf.Registry, id string, mine kopf.Labels) {
		kopf.OnCreate(r, vaults, func(context.Context, *change) error { return nil }, kopf.ID(id+"-create"), mine)
		kopf.OnUpdate(r, vaults, fn, kopf.ID(id), mine, kopf.RetryDelay(time.Hour))
	}
}

// setting returns a patch of the field with the secret.
func setting(value string) func(string) tree {
	return func(string) tree { return tree{"spec": tree{"password": value}} }
}

// before has the secret in an annotation with a former version of an object that has another one now.
func before(annotation, format string) func(secret string) tree {
	return func(secret string) tree {
		return tree{
			"metadata": tree{"annotations": tree{annotation: fmt.Sprintf(format, secret)}},
			"spec":     tree{"password": "newer-pa55"},
		}
	}
}

// Places are all places.
var Places = []Place{
	{
		Name: "new", Says: "handled at new",
		Object:   func(string) tree { return tree{"spec": tree{"password": "older-pa55"}} },
		Change:   func(secret string) tree { return setting(secret)("") },
		Register: updating(func(_ context.Context, c *change) error { c.Logger.Info("handled at new"); return nil }),
	},
	{
		Name: "old", Says: "refused at old", Change: setting("newer-pa55"),
		Register: updating(func(_ context.Context, c *change) error {
			return kopf.Permanentf("refused at old: it was %s", password(c.Old))
		}),
	},
	{
		Name: "old-panic", Says: "panicked at old", Change: setting("newer-pa55"),
		Register: updating(func(_ context.Context, c *change) error { panic("panicked at old with " + password(c.Old)) }),
	},
	{
		Name: "long-id", Says: "refused at long id", Change: setting("newer-pa55"),
		Register: func(r *kopf.Registry, id string, mine kopf.Labels) {
			updating(func(context.Context, *change) error { return kopf.Permanentf("refused at long id") })(
				r, id+"-that-is-much-longer-than-a-name-of-metadata-may-be-in-kubernetes", mine)
		},
	},
	{
		Name: "annotation",
		Object: func(secret string) tree {
			return tree{"metadata": tree{"annotations": tree{"note": "with " + secret}}, "spec": tree{"password": secret}}
		},
	},
	{
		Name:   "applied",
		Object: before("kubectl.kubernetes.io/last-applied-configuration", `{"spec":{"password":%q}}`),
	},
	{
		Name:   "nested",
		Object: before("backups.example.com/list", `[{"kind":"Vault","was":{"spec":{"users":[{"password":%q}]}}}]`),
	},
	{
		Name: "broken", Says: "the last-handled configuration", Unreadable: true,
		Object:   before("kopf.zalando.org/last-handled-configuration", `{"spec":{"password":%q`),
		Register: creating(func(context.Context, *change) error { return nil }),
	},
	{
		Name: "orphan",
		Object: func(secret string) tree {
			return tree{"spec": tree{"password": secret}, "metadata": tree{"annotations": tree{
				"kopf.zalando.org/gone": `{"started":"2026-01-02T03:04:05.000000","retries":3,"success":false,"failure":false,"message":"gone with ` + secret + `"}`,
			}}}
		},
		Register: creating(func(context.Context, *change) error { return nil }),
	},
	{
		Name: "status", Says: "handled at status",
		Register: creating(func(_ context.Context, c *change) error {
			c.Patch.Set("status.note", "with "+password(c.Object))
			c.Patch.Set("status.copy", tree{"spec": c.Object.Get("spec")})
			c.Logger.Info("handled at status")
			return nil
		}),
	},
	{
		Name: "error", Says: "no login at error",
		Register: creating(func(_ context.Context, c *change) error {
			return errors.New("no login at error with " + password(c.Object))
		}),
	},
	{
		Name: "permanent", Says: "no login at permanent",
		Register: creating(func(_ context.Context, c *change) error {
			return kopf.Permanentf("no login at permanent: %w", fmt.Errorf("%q refused", password(c.Object)))
		}),
	},
	{
		Name: "panic", Says: "panicked at new",
		Register: creating(func(_ context.Context, c *change) error {
			panic(fmt.Errorf("panicked at new with %s", password(c.Object)))
		}),
	},
	{
		Name: "result", Says: "handled at result",
		Register: creating(func(_ context.Context, c *change) error {
			c.Result = tree{"login": "user:" + password(c.Object)}
			c.Logger.Info("handled at result")
			return nil
		}),
	},
	{
		Name: "sub", Says: "no login at sub",
		Register: creating(func(_ context.Context, c *change) error {
			c.Sub("fine", func(_ context.Context, c *change) error { c.Result = password(c.Object); return nil })
			c.Sub("bad", func(_ context.Context, c *change) error {
				return kopf.Permanentf("no login at sub with %s", password(c.Object))
			})
			return nil
		}),
	},
	{
		Name: "log", Says: "handled at log",
		Register: creating(func(_ context.Context, c *change) error {
			c.Logger.Warn("handled at log with "+password(c.Object), "password", password(c.Object), "spec", c.Object.Get("spec"))
			c.Recorder.Warn("Planted", "posted at log with "+password(c.Object))
			return nil
		}),
	},
	{
		Name: "patch", Says: "handled at patch",
		Register: creating(func(_ context.Context, c *change) error {
			c.Patch.Set("spec.users", []any{tree{"name": "me", "password": password(c.Object)}})
			c.Logger.Info("handled at patch")
			return nil
		}),
	},
	{
		Name: "api-error", Says: "should match",
		Register: creating(func(_ context.Context, c *change) error {
			c.Patch.Set("spec.password", password(c.Object)+" and more")
			return nil
		}),
	},
	{
		Name:   "item",
		Object: func(secret string) tree { return tree{"spec": tree{"tokens": []any{secret, "other-t0ken"}}} },
	},
	{
		Name: "filter",
		Register: func(r *kopf.Registry, id string, mine kopf.Labels) {
			kopf.OnCreate(r, vaults, func(context.Context, *change) error { return nil }, kopf.ID(id), mine, kopf.Field("spec.password"), kopf.Value("an0ther"))
		},
	},
	{
		Name: "index",
		Register: func(r *kopf.Registry, id string, mine kopf.Labels) {
			kopf.NewIndex(r, vaults, func(_ context.Context, c *kopf.IndexRequest[object]) (map[string]string, error) {
				return map[string]string{c.Name: "user:" + password(c.Object)}, nil
			}, kopf.ID(id), mine)
		},
	},
	{
		Name: "index-error", Says: "not indexed",
		Register: func(r *kopf.Registry, id string, mine kopf.Labels) {
			kopf.NewIndex(r, vaults, func(_ context.Context, c *kopf.IndexRequest[object]) (map[string]string, error) {
				return nil, kopf.Permanentf("not indexed with %s", password(c.Object))
			}, kopf.ID(id), mine)
		},
	},
	{
		Name: "daemon", Says: "no login at daemon",
		Register: func(r *kopf.Registry, id string, mine kopf.Labels) {
			kopf.Daemon(r, vaults, func(_ context.Context, d *kopf.DaemonRun[object]) error {
				return kopf.Temporaryf(time.Hour, "no login at daemon with %s", password(d.Object()))
			}, kopf.ID(id), mine)
		},
	},
	{
		Name: "timer", Says: "no login at timer",
		Register: func(r *kopf.Registry, id string, mine kopf.Labels) {
			kopf.Timer(r, vaults, func(_ context.Context, t *kopf.TimerTick[object]) error {
				return kopf.Temporaryf(time.Hour, "no login at timer with %s", password(t.Object))
			}, kopf.ID(id), mine, kopf.Interval(time.Hour))
		},
	},
	{
		Name: "raw-event", Says: "seen at raw event",
		Register: func(r *kopf.Registry, id string, mine kopf.Labels) {
			kopf.OnEvent(r, vaults, func(_ context.Context, e *kopf.Event[object]) error {
				return errors.New("seen at raw event with " + password(e.Object))
			}, kopf.ID(id), mine)
		},
	},
	{
		Name: "review", Says: "denied at review", Change: setting("newer-pa55"),
		Register: func(r *kopf.Registry, id string, mine kopf.Labels) {
			kopf.OnValidate(r, vaults, func(_ context.Context, a *kopf.Admission[object]) error {
				if a.Old == nil || password(a.Old) == password(a.Object) {
					return nil
				}
				a.Warnf("warned at review of %s", password(a.Old))
				return kopf.Permanentf("denied at review: %s must remain", password(a.Old))
			}, kopf.ID(id), mine)
			kopf.OnMutate(r, vaults, func(_ context.Context, a *kopf.Admission[object]) error {
				a.Patch.Set("metadata.annotations.copy", password(a.Object))
				return nil
			}, kopf.ID(id+"-mutate"), mine)
		},
	},
	{
		Name: "secret", Says: "refused at secret",
		Object: func(secret string) tree {
			return tree{"apiVersion": "v1", "kind": "Secret", "spec": nil, "stringData": tree{"key": secret}}
		},
		Change: func(string) tree { return tree{"stringData": tree{"key": "newer-pa55"}} },
		Register: func(r *kopf.Registry, id string, mine kopf.Labels) {
			kopf.OnCreate(r, secrets, func(_ context.Context, c *change) error {
				c.Logger.Info("created at secret", "data", c.Object.Get("data"))
				c.Patch.Set("data.copy", c.Object.Get("data.key"))
				return nil
			}, kopf.ID(id+"-create"), mine)
			kopf.NewIndex(r, secrets, func(_ context.Context, c *kopf.IndexRequest[object]) (map[string]string, error) {
				return map[string]string{c.Name: fmt.Sprint(c.Object.Get("data"))}, nil
			}, kopf.ID(id+"-index"), mine)
			kopf.OnUpdate(r, secrets, func(_ context.Context, c *change) error {
				return kopf.Permanentf("refused at secret: %v became %v", c.Old.Get("data"), c.Object.Get("data"))
			}, kopf.ID(id), mine, kopf.Field("data.key"))
		},
	},
}
