// Package random has handlers that do as the spec of their object says.
package random

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// soon is the delay of retries.
const soon = 20 * time.Millisecond

// Register registers the handlers.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	applies := kopf.Uses(kopf.Resource("v1", "configmaps"), "get", "create", "patch")
	kopf.OnCreate(r, kex, act("first"), kopf.ID("first"), kopf.Attempts(3), kopf.RetryDelay(soon), applies)
	kopf.OnCreate(r, kex, act("second"), kopf.ID("second"), kopf.Attempts(3), kopf.RetryDelay(soon), applies)
	kopf.OnUpdate(r, kex, act("update"), kopf.ID("update"), kopf.Attempts(3), kopf.RetryDelay(soon), applies)
	kopf.OnResume(r, kex, act("resume"), kopf.ID("resume"), kopf.Attempts(3), kopf.RetryDelay(soon), applies)
	kopf.OnDelete(r, kex, act("delete"), kopf.ID("delete"), kopf.Attempts(3), kopf.RetryDelay(soon), applies)
	kopf.OnField(r, kex, "spec.size", resize)
}

// act returns a handler that does what the field of its name in the spec says.
func act(name string) func(context.Context, *kopf.Change[kopf.Object]) error {
	return func(ctx context.Context, c *kopf.Change[kopf.Object]) error {
		switch deed := kopf.GetOr(c.Object, kopf.Path("spec."+name), "succeed"); deed {
		case "spec":
			c.Patch.Set(kopf.Path("spec.by-"+name), kopf.GetOr(c.Object, "spec.size", ""))
		case "result":
			c.Result = "of " + name
		case "retry":
			if c.Retry == 0 {
				return kopf.Temporaryf(soon, "%s of %s needs two calls", name, c.Name)
			}
		case "give up":
			return errors.New(name + " never succeeds")
		case "fail":
			return kopf.Permanentf("%s of %s is refused", name, c.Name)
		case "child":
			return kopf.Apply(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: c.Name + "-" + name}, Data: map[string]string{"size": kopf.GetOr(c.Object, "spec.size", "")},
			})
		case "parts":
			for i := range 2 {
				c.Sub(fmt.Sprintf("part-%d", i), func(_ context.Context, c *kopf.Change[kopf.Object]) error {
					if c.Retry == 0 && i == 1 {
						return kopf.Temporaryf(soon, "the second part needs two calls")
					}
					return nil
				})
			}
		}
		return nil
	}
}

func resize(_ context.Context, c *kopf.FieldChange[string]) error {
	if c.New == "unknown" {
		return kopf.Permanentf("the size is unknown")
	}
	c.Patch.Set("status.size", c.New)
	return nil
}
