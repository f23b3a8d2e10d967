package outbox

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"sort"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Kubernetes limits the total size of an object's annotations, and users and other controllers can use up the limit. The
// API server then rejects every patch that adds an annotation, so the operator could neither handle nor release the
// object. The outbox therefore parks the operator's annotations that have no room. The operator reads parked annotations
// as if they were on the object, and writes them when there is room.

// fit returns the changes by handlers together with the operator's own, reduced to the size limit. It parks annotations of
// the operator's own changes, biggest first. If that is not enough, it drops the annotations of handlers.
func (o *Outbox) fit(to *Target, handlers *patch.Patch) *patch.Patch {
	own := o.Held.Own
	restored := len(o.Parked) > 0 && o.unpark(to.Tree)
	p := patch.Joined(handlers, own)
	if needed := annotationsSize(to.Tree, p); needed > patch.MaxAnnotationsSize {
		size, values := needed, AnnotationsOf(own)
		biggestFirst := object.SortedKeys(values)
		sort.SliceStable(biggestFirst, func(i, j int) bool { return textLen(values[biggestFirst[i]]) > textLen(values[biggestFirst[j]]) })
		for _, key := range biggestFirst {
			if text, ok := values[key].(string); ok && size > patch.MaxAnnotationsSize {
				o.park(key, text)
				own.Discard(object.Path{"metadata", "annotations", key})
				p = patch.Joined(handlers, own)
				size = annotationsSize(to.Tree, p)
			}
		}
		if size > patch.MaxAnnotationsSize {
			p = patch.NewPatch() // a copy: the joined patch shares the annotations of the handlers
			p.Append(handlers)
			p.Append(own)
			dropHandlersAnnotations(to.Logger, p)
		}
		if to.WarnOnce("annotations are full") {
			warnFull(to.Logger, to.Tree, needed)
		}
	}
	if restored && len(o.Parked) == 0 {
		to.Logger.Info("Annotations fit on the object again; writing those kept in memory", observe.EventKey, observe.LogAnnotationsRestored)
	}
	return p
}

// unpark adds the parked annotations to the operator's own changes, unless these replace or remove them. It reports whether it added
// any.
func (o *Outbox) unpark(obj map[string]any) (restored bool) {
	values := AnnotationsOf(o.Held.Own)
	for key, text := range o.Parked {
		path := object.Path{"metadata", "annotations", key}
		value, replaced := values[key]
		_, written := object.Annotations(obj)[key]
		switch {
		case !replaced:
			o.Held.Own.Set(path, text)
			restored = true
		case value == nil && !written:
			o.Held.Own.Discard(path)
		}
	}
	o.Parked = nil
	return restored
}

// park keeps an annotation that does not fit on the object.
func (o *Outbox) park(key, text string) {
	if o.Parked == nil {
		o.Parked = make(map[string]string, 1)
	}
	o.Parked[key] = text
}

// dropHandlersAnnotations drops the annotations that handlers set. Retries would fail too, and would prevent the
// deletion of the object.
func dropHandlersAnnotations(logger *slog.Logger, p *patch.Patch) {
	if dropped := p.DropAnnotations(func(string) bool { return true }); len(dropped) > 0 {
		logger.Error(fmt.Sprintf("Annotations set by handlers do not fit on the object; discarding them: %s",
			strings.Join(dropped, ", ")), observe.EventKey, observe.LogAnnotationsDropped)
	}
}

// BiggestAnnotations describes the three biggest annotations of an object, the biggest first; empty if it has none.
func BiggestAnnotations(obj map[string]any) string {
	annotations := object.Annotations(obj)
	names := object.SortedKeys(annotations)
	sort.SliceStable(names, func(i, j int) bool { return sizeOf(annotations, names[i]) > sizeOf(annotations, names[j]) })
	biggest := make([]string, 0, 3)
	for _, name := range names[:min(3, len(names))] {
		biggest = append(biggest, fmt.Sprintf("%s (%d bytes)", name, sizeOf(annotations, name)))
	}
	return strings.Join(biggest, ", ")
}

func warnFull(logger *slog.Logger, obj map[string]any, needed int) {
	logger.Warn(fmt.Sprintf("Annotations of the object are full (%d bytes of %d); keeping the operator's own in memory until they fit. "+
		"Handlers may be called again after a restart. Shorten the biggest annotations: %s",
		needed, patch.MaxAnnotationsSize, cmp.Or(BiggestAnnotations(obj), "none but the operator's own")),
		observe.EventKey, observe.LogAnnotationsFull)
}

// AnnotationsOf returns the annotations that a patch sets or removes.
func AnnotationsOf(p *patch.Patch) map[string]any {
	annotations, _ := p.Lookup(object.Path{"metadata", "annotations"})
	out, _ := annotations.(map[string]any)
	return maps.Clone(out)
}

func annotationsSize(object map[string]any, p *patch.Patch) (size int) {
	p.Edit(func(merge map[string]any) { size = patch.AnnotationsSize(object, merge) })
	return size
}

func sizeOf(annotations map[string]any, key string) int { return len(key) + textLen(annotations[key]) }

func textLen(value any) int {
	s, _ := value.(string)
	return len(s)
}
