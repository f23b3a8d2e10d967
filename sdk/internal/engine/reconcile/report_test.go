package reconcile

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestReport_MomentaryFailureIsNoRefusal(t *testing.T) {
	configMaps := &resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"}
	of := func(cause error) error {
		return (&Pass{}).failed("apply", &desired{kind: &kind{}, to: target{resource: configMaps}, referenced: true}, &kube.Error{Method: "PATCH", Err: cause})
	}
	maps := schema.GroupResource{Resource: "configmaps"}
	const awaited, refused = inspect.ResultAwaited, inspect.ResultRefused
	for name, c := range map[string]struct {
		err  error
		want inspect.ChildResult
	}{
		"changes too fast":  {handlers.AsTemporary(errors.New("apply ConfigMap x: it changes faster than it can be applied"), time.Second), awaited},
		"no answer":         {of(errors.New("connection refused")), awaited},
		"unavailable":       {of(apierrors.NewServiceUnavailable("etcd is away")), awaited},
		"too many requests": {of(apierrors.NewTooManyRequests("wait", 1)), awaited},
		"no namespace":      {of(apierrors.NewNotFound(maps, "x")), awaited},
		"forbidden":         {of(apierrors.NewForbidden(maps, "x", errors.New("no role"))), refused},
		"bad request":       {of(apierrors.NewBadRequest("no field")), refused},
		"of another owner":  {handlers.AsPermanent(errors.New("apply ConfigMap x: it was not made for this object")), refused},
	} {
		if got := resultOf(c.err); got != c.want {
			t.Errorf("%s: the result of %q is %s, want %s", name, fmt.Sprint(c.err), got, c.want)
		}
	}
}
