package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

type listed struct {
	Spec struct {
		Items []string `json:"items"`
	} `json:"spec"`
}

func TestTransformationsApplyToTheNewestVersionAndNothingElseIsLost(t *testing.T) {
	w, c := newWorld(t), &calls{}
	var contended atomic.Int32
	contend := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPatch && strings.Contains(req.Header.Get("Content-Type"), "json-patch") && contended.Add(1) == 1 {
				w.patch("x", tree{"spec": tree{"items": []any{"by somebody else"}}})
			}
			return next.RoundTrip(req)
		})
	}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *kopf.Change[listed]) error {
			c.add("create")
			kopf.Transform(r.Patch, func(o *listed) { o.Spec.Items = append(o.Spec.Items, "by the handler") })
			r.Result = "done"
			return nil
		}, kopf.ID("create"))
	}, setup{wrap: contend})
	w.create(example("x"))
	op.journal.wait(t, "Patching was postponed", 1)
	w.until("x", "has both items", func(o *kopf.Object) bool {
		return fmt.Sprint(o.Get("spec.items")) == "[by somebody else by the handler]" && o.Get("status.create") == "done"
	})
	w.untilHandled("x")
	c.are(t, "create")
}
