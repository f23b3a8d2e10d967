package kopftest_test

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// Greeting is the parent in ExamplePass.
type Greeting struct {
	Spec struct {
		Text string `json:"text"`
	} `json:"spec"`
}

func Register(r *kopf.Registry) {
	kopf.OnReconcile(r, kopf.Resource("example.com/v1", "greetings"), reconcile, kopf.Own{Resource: kopf.Resource("v1", "configmaps")})
}

func reconcile(ctx context.Context, p *kopf.Pass[Greeting]) error {
	return p.Apply(ctx, &corev1.ConfigMap{Data: map[string]string{"text": p.Object.Spec.Text}})
}

// A test calls the handler with the request, and looks at the result.
func ExamplePass() {
	_ = func(t *testing.T) {
		p := kopftest.Pass[Greeting](t, Register, "spec: {text: hello}", kopftest.Child{Kind: "ConfigMap", Name: "old"})
		got := kopftest.Passed(t, p, reconcile(t.Context(), p))
		if text := got.Object("ConfigMap demo").Get("data.text"); text != "hello" {
			t.Errorf("got text %v, want hello", text)
		}
		if !slices.Equal(got.Pruned, []string{"ConfigMap old"}) {
			t.Errorf("got %q, want the old one", got.Pruned)
		}
	}
}
