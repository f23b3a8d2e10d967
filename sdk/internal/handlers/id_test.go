package handlers

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestValidate_IDMakesAnAnnotationName(t *testing.T) {
	for _, id := range []string{
		" ", "a b", `a"b`, "it's", "a:b", "a\x00", "\x1b[31m", "a\nb", "..", ".", "-", "_private", "a-", "a_", "a/", "/a", "größe", "处理", "a\xff",
		"a@b", "a\\b", "a%", "<locals>", "touch-dummy", "last-handled-configuration", "kopf-managed", "unreadable.a", "unreadable/a",
		"failed-handler.create", "failed-handler/create", "handler-steps.create", "handler-steps/create", "started-step.create", "a{b}", "a,b",
	} {
		if err := (&Handler{ID: id, Family: Create}).Validate(); err == nil || strings.ContainsAny(err.Error(), "\x00\x1b\n") {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{
		"a", "create_fn", "create-fn", "f1", "CamelCase", "a..b", "create/sub", "resize/spec.size", "a.<locals>.b", "fn/metadata.labels.app.kubernetes.io/name",
		strings.Repeat("long", 100), "unreadable", "failed-handler", "touch-dummy2",
	} {
		if err := (&Handler{ID: id, Family: Create}).Validate(); err != nil {
			t.Errorf("%q: %v", id, err)
		}
		name := strings.NewReplacer("/", ".", "<", "_", ">", "_").Replace(id)
		if wrong := validation.IsQualifiedName("kopf.zalando.org/" + name[:min(63, len(name))]); len(wrong) > 0 {
			t.Errorf("%q: %q", id, wrong)
		}
	}
}

func TestValidate_IDWithFieldAndParent(t *testing.T) {
	bad := &Handler{ID: MakeID(Field, "", "fn", object.Path{"data", "my key"}), Family: Field, Field: object.Path{"data", "my key"}}
	if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), `has the character ' '`) {
		t.Error(err)
	}
	r := NewSubregistry(&Handler{ID: "create", Family: Create})
	if err := r.Add(&Handler{ID: "zone:1"}); err == nil || !strings.Contains(err.Error(), `has the character ':'`) {
		t.Error(err)
	}
	if err := r.Add(&Handler{ID: "-zone"}); err != nil {
		t.Error(err)
	}
}
