package kopf_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestVersion_RegistrationErrors(t *testing.T) {
	pods := kopf.Resource("v1", "pods")
	fn := func(context.Context, *kopf.Change[kopf.Object]) error { return nil }
	field := func(context.Context, *kopf.FieldChange[any]) error { return nil }
	id, long := kopf.ID("fn"), strings.Repeat("x", 41)
	for name, test := range map[string]struct {
		register func(*kopf.Registry)
		want     string // part of the error; empty if the registration is right
	}{
		"each family": {func(r *kopf.Registry) {
			kopf.OnCreate(r, pods, fn, id, kopf.Version("2"))
			kopf.OnUpdate(r, pods, fn, id, kopf.Version("2"))
			kopf.OnResume(r, pods, fn, id, kopf.Version("2"))
			kopf.OnField(r, pods, "spec.a", field, id, kopf.Version("1.2.3-rc.1"))
			kopf.OnDelete(r, pods, fn, id) // has no version
		}, ""},
		"no text":        {func(r *kopf.Registry) { kopf.OnCreate(r, pods, fn, id, kopf.Version("")) }, "the Version is empty"},
		"a space":        {func(r *kopf.Registry) { kopf.OnCreate(r, pods, fn, id, kopf.Version("2 b")) }, "without spaces"},
		"a control code": {func(r *kopf.Registry) { kopf.OnCreate(r, pods, fn, id, kopf.Version("2\x1b[m")) }, "without spaces"},
		"a broken rune":  {func(r *kopf.Registry) { kopf.OnCreate(r, pods, fn, id, kopf.Version("2\xff")) }, "without spaces"},
		"a long text":    {func(r *kopf.Registry) { kopf.OnCreate(r, pods, fn, id, kopf.Version(long)) }, "has 41 bytes; want at most 40"},
		"twice":          {func(r *kopf.Registry) { kopf.OnCreate(r, pods, fn, id, kopf.Version("2"), kopf.Version("2")) }, "Version is given twice"},
		"two versions": {func(r *kopf.Registry) {
			kopf.OnCreate(r, pods, fn, id, kopf.Version("2"))
			kopf.OnUpdate(r, pods, fn, id, kopf.Version("3"))
		}, `handler "fn" has the Version "3", and the Version "2" at`},
		"one of two": {func(r *kopf.Registry) {
			kopf.OnCreate(r, pods, fn, id, kopf.Version("2"))
			kopf.OnUpdate(r, pods, fn, id)
		}, `has the Version "", and the Version "2"`},
		"id of the record": {func(r *kopf.Registry) { kopf.OnCreate(r, pods, fn, kopf.ID("handler-versions")) }, "another meaning"},
		"id of a mark":     {func(r *kopf.Registry) { kopf.OnCreate(r, pods, fn, kopf.ID("rehandle-handler/x")) }, "another meaning"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &kopf.Registry{}
			test.register(r)
			switch err := r.Err(); {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("want an error about %q, got %v", test.want, err)
			}
		})
	}
}
