package kopftest

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Patched returns the object of a request with the handler's patch applied, including the changes of [kopf.Transform].
//
//	kopftest.Patched(t, c.Patch).Get("status.phase")
func Patched(t testing.TB, patch *kopf.Patch) *kopf.Object {
	t.Helper()
	after, _ := foreseen(t, patch)
	return viewOf(t, after)
}

// Changes returns the contents of a handler's patch as a merge patch; a nil value removes a field. Changes of
// [kopf.Transform] are computed for the object of the request.
func Changes(t testing.TB, patch *kopf.Patch) map[string]any {
	t.Helper()
	_, changes := foreseen(t, patch)
	return treeOf(t, changes)
}

func foreseen(t testing.TB, p *kopf.Patch) (after, changes map[string]any) {
	t.Helper()
	after, changes, err := testhooks.Foresee(p)
	if err != nil {
		t.Fatalf("kopftest: the patch cannot be applied: %v", err)
	}
	return after, changes
}
