package kopftest

import (
	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// NewPatch returns an empty patch of an object, which [kopf.Edit] copies. The body may be nil.
func NewPatch(body *kopf.Object) *kopf.Patch { return testhooks.NewPatch(body).(*kopf.Patch) }
