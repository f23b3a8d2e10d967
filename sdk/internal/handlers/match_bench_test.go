package handlers

import (
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// tenHandlers returns handlers and filters as operators usually have them.
func tenHandlers() *Set {
	gold := map[string]Criterion{"tier": EqualStringCriterion("gold"), "paused": Absent}
	size := object.Path{"spec", "size"}
	large := EqualStringCriterion("large")
	hs := []*Handler{
		{Family: Create}, {Family: Create, Labels: gold}, {Family: Resume}, {Family: Update},
		{Family: Update, Field: size}, {Family: Update, Field: size, New: &large}, {Family: Field, Field: size},
		{Family: Delete}, {Family: Delete, Optional: true, Labels: gold},
		{Family: Update, Annotations: map[string]Criterion{"example.com/mode": Present}},
	}
	for i, h := range hs {
		h.ID = fmt.Sprintf("handler%d", i)
	}
	return registered(hs...)
}

func sized(size string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"tier": "gold"}},
		"spec":     map[string]any{"size": size, "class": "fast"},
	}
}

func BenchmarkSelected_TenHandlers(b *testing.B) {
	set := tenHandlers()
	update := updated(sized("small"), sized("large"))
	noop := updated(sized("large"), sized("large"))
	noop.Reason = ReasonNoop
	for name, c := range map[string]*Cause{"update": update, "noop": noop} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set.Selected(Changing, c)
			}
		})
	}
}

func BenchmarkPrematch_TenHandlers(b *testing.B) {
	set := tenHandlers()
	c := updated(sized("large"), sized("large"))
	b.ReportAllocs()
	for b.Loop() {
		set.Prematch(c)
		set.RequiresFinalizer(c)
	}
}

func BenchmarkExplain_TenHandlers(b *testing.B) {
	set := tenHandlers()
	c := updated(sized("small"), sized("large"))
	b.ReportAllocs()
	for b.Loop() {
		set.Explain(Changing, c)
	}
}
