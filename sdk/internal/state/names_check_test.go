package state

import (
	"strings"
	"testing"
)

func TestCheckFinalizer_NamesThatAreNone(t *testing.T) {
	for _, name := range []string{DefaultFinalizer, "my-operator.example.com/finalizer", "kopf"} {
		if err := CheckFinalizer(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", " ", "a b", "a/b/c", "/x", "x/", "a:b", "größe", "Upper.Case/x", strings.Repeat("x", 64), "orphan", "foregroundDeletion", "kubernetes", "a\n"} {
		if err := CheckFinalizer(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestCheckNames_PrefixesAndClashes(t *testing.T) {
	ids := []string{"create", "resize/spec.size", strings.Repeat("long", 30)}
	for _, prefix := range []string{"kopf.zalando.org", "my.example.com", strings.Repeat("long.", 7) + "example.com"} {
		base, progress := NewAnnotationsDiffBase(), newAnnotationsProgress()
		base.Prefix, progress.Prefix = prefix, prefix
		if err := CheckNames(MultiProgress{progress, newStatusProgress("")}, MultiDiffBase{base}, append(ids, "create")); err != nil {
			t.Error(err)
		}
	}
	veryLong := strings.Repeat("very-long.", 9) + "example.com" // nothing but a hash remains of V1 names
	for want, set := range map[string]func(*AnnotationsProgress, *AnnotationsDiffBase){
		`long.example.com/-a.A3qw": `:                                                   func(p *AnnotationsProgress, b *AnnotationsDiffBase) { p.Prefix, b.Prefix = veryLong, veryLong },
		`an annotation with the invalid name "two words/touch-dummy"`:                   func(p *AnnotationsProgress, _ *AnnotationsDiffBase) { p.Prefix = "two words" },
		`an annotation with the invalid name "kopf.zalando.org/ä"`:                      func(_ *AnnotationsProgress, b *AnnotationsDiffBase) { b.Key = "ä" },
		`the annotation kopf.zalando.org/create is for touching`:                        func(p *AnnotationsProgress, _ *AnnotationsDiffBase) { p.TouchKey = "create" },
		`kopf.zalando.org/create is for the last-handled configuration as well`:         func(_ *AnnotationsProgress, b *AnnotationsDiffBase) { b.Key = "create" },
		`kopf.zalando.org/x is for the last-handled configuration as well as for touch`: func(p *AnnotationsProgress, b *AnnotationsDiffBase) { p.TouchKey, b.Key = "x", "x" },
	} {
		base, progress := NewAnnotationsDiffBase(), newAnnotationsProgress()
		set(progress, base)
		if err := CheckNames(MultiProgress{progress}, MultiDiffBase{base}, ids); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
