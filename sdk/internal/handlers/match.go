package handlers

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// matches reports whether a handler is called for a cause. If why is not nil, it receives the
// first condition that is not met.
func (h *Handler) matches(c *Cause, why *Mismatch) bool {
	return h.matchesOccasion(c, why) && h.matchesObject(c, true, why)
}

// prematches reports whether the handler's filters match the object, apart from those on how the
// object has changed: now or later, the handler may be called for it.
func (h *Handler) prematches(c *Cause) bool { return h.matchesObject(c, false, nil) }

func (h *Handler) matchesOccasion(c *Cause, why *Mismatch) bool {
	switch h.Family.Group() {
	case Changing:
		return h.matchesReason(c, why)
	case Admission:
		return h.matchesReview(c.Review)
	default:
		return true
	}
}

func (h *Handler) matchesReason(c *Cause, why *Mismatch) bool {
	wants := ""
	switch {
	case !c.Reason.Handled():
		wants = string(h.Family)
	case h.Family == Resume && !c.Initial,
		h.Family == Create && c.Reason != ReasonCreate,
		h.Family == Update && c.Reason != ReasonUpdate,
		h.Family == Delete && c.Reason != ReasonDelete:
		wants = string(h.Family)
	case len(h.Reasons) > 0 && !slices.Contains(h.Reasons, c.Reason):
		wants = joinReasons(h.Reasons)
	case h.Family == Resume && c.Deleted && !h.Deleted:
		if why != nil {
			*why = Mismatch{
				Kind: MismatchDeleted, Path: "metadata.deletionTimestamp",
				Is: WantsPresent, Wants: WantsAbsent,
			}
		}
		return false
	default:
		return true
	}
	if why != nil {
		*why = Mismatch{Kind: MismatchReason, Is: string(c.Reason), Wants: wants}
	}
	return false
}

func joinReasons(reasons []Reason) string {
	words := make([]string, len(reasons))
	for i, r := range reasons {
		words[i] = string(r)
	}
	return strings.Join(words, ", ")
}

// matchesObject checks the filters, with or without those on how the object has changed.
func (h *Handler) matchesObject(c *Cause, changes bool, why *Mismatch) bool {
	if len(h.Labels) > 0 && !h.compiled.labels.match(c, metadata(c.Tree, "labels"), why) {
		return false
	}
	if len(h.Annotations) > 0 && !h.compiled.annotations.match(c, metadata(c.Tree, "annotations"), why) {
		return false
	}
	if len(h.Field) > 0 && !h.matchesField(c, changes, why) {
		return false
	}
	if h.When != nil && !h.When(c.context(), c) {
		if why != nil {
			*why = Mismatch{Kind: MismatchWhen, Path: h.WhenName, Is: "false", Wants: "true"}
		}
		return false
	}
	return true
}

func (h *Handler) matchesField(c *Cause, changes bool, why *Mismatch) bool {
	if h.Family.Group() != Changing {
		return h.compiled.field.matchOne(c, lookup(c.Tree, h.Field), why)
	}
	before, now := lookup(c.Old, h.Field), lookup(c.New, h.Field)
	return h.compiled.field.matchEither(c, before, now, why) &&
		(!changes || h.compiled.field.matchChange(c, before, now, why))
}

func lookup(obj map[string]any, path object.Path) fieldValue {
	value, found := object.Lookup(obj, path)
	return fieldValue{Value: value, Found: found}
}

func metadata(obj map[string]any, key string) map[string]any {
	values, _ := object.Metadata(obj)[key].(map[string]any)
	return values
}

// callsFunctions reports whether filters of the handler are functions, which can depend on anything.
func (h *Handler) callsFunctions() bool {
	isFunc := func(c *Criterion) bool { return c != nil && c.check == checkFunc }
	if h.When != nil || isFunc(h.Value) || isFunc(h.Old) || isFunc(h.New) {
		return true
	}
	for _, c := range h.Labels {
		if isFunc(&c) {
			return true
		}
	}
	return false
}
