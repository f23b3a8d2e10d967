package handlers

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// matches tells whether a handler is to be called for a cause. If why is not nil, it is
// told the first condition that is not met.
func (h *Handler) matches(c *Cause, why *Mismatch) bool {
	return h.matchesOccasion(c, why) && h.matchesObject(c, true, why)
}

// prematches tells whether a handler is, or may some time be, interested in the object as
// it is, whatever has happened to it.
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

func (h *Handler) matchesReview(r *Review) bool {
	switch {
	case r == nil:
		return true
	case r.Family != "" && r.Family != h.Family,
		r.HandlerID != "" && r.HandlerID != h.ID,
		h.Subresource != "*" && h.Subresource != r.Subresource:
		return false
	}
	// What is being deleted cannot be mutated: only handlers made for just that are asked.
	onlyDeletion := len(h.Operations) > 0 &&
		!slices.ContainsFunc(h.Operations, func(op string) bool { return op != "DELETE" })
	return h.Family != Mutate || r.Operation != "DELETE" || onlyDeletion
}

// matchesObject checks the filters, without or with those on how the object has changed.
func (h *Handler) matchesObject(c *Cause, changes bool, why *Mismatch) bool {
	if len(h.Labels) > 0 && !h.compiled.labels.Match(metadata(c.Tree, "labels"), why) {
		return false
	}
	if len(h.Annotations) > 0 && !h.compiled.annotations.Match(metadata(c.Tree, "annotations"), why) {
		return false
	}
	if len(h.Field) > 0 && !h.matchesField(c, changes, why) {
		return false
	}
	if h.When != nil && !h.When(c) {
		if why != nil {
			*why = Mismatch{Kind: MismatchWhen, Path: h.WhenName, Is: "false", Wants: "true"}
		}
		return false
	}
	return true
}

func (h *Handler) matchesField(c *Cause, changes bool, why *Mismatch) bool {
	if h.Family.Group() != Changing {
		return h.compiled.field.MatchOne(lookup(c.Tree, h.Field), why)
	}
	before, now := lookup(c.Old, h.Field), lookup(c.New, h.Field)
	return h.compiled.field.MatchEither(before, now, why) &&
		(!changes || h.compiled.field.MatchChange(before, now, why))
}

func lookup(obj map[string]any, path object.Path) ValueFilter {
	value, found := object.Lookup(obj, path)
	return ValueFilter{Value: value, Found: found}
}

func metadata(obj map[string]any, key string) map[string]any {
	values, _ := object.Metadata(obj)[key].(map[string]any)
	return values
}
