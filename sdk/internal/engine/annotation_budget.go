package engine

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// annotationBudget keeps the operator's annotations that do not fit on an object. All annotations
// of an object have a common size limit, which people and other controllers can use up. The server
// then rejects every patch that adds an annotation, so that the object could be neither handled nor
// deleted. What does not fit is kept in memory instead: the operator reads it as if it were on the
// object, and writes it when there is room.
type annotationBudget struct {
	unwritten map[string]string // annotations by their names
	warned    bool
}

// overlay returns the object as if all annotations were written.
func (b *annotationBudget) overlay(obj map[string]any) map[string]any {
	if len(b.unwritten) == 0 {
		return obj
	}
	annotations := maps.Clone(object.Annotations(obj))
	if annotations == nil {
		annotations = make(map[string]any, len(b.unwritten))
	}
	for key, value := range b.unwritten {
		annotations[key] = value
	}
	return object.With(obj, object.Path{"metadata", "annotations"}, annotations)
}

// fit reduces a patch to the size limit. It keeps back annotations of the operator's own patch,
// which is a part of the patch, biggest first. If that is not enough, it drops the annotations of
// handlers.
func (b *annotationBudget) fit(logger *slog.Logger, obj map[string]any, p, ownPatch *patch.Patch) {
	if len(b.unwritten) == 0 && annotationsSize(obj, p) <= patch.MaxAnnotationsSize {
		return // as nearly always
	}
	b.forgetRemoved(obj, p, ownPatch)
	fitting := b.keepBack(logger, obj, p, ownPatch)
	for _, key := range fitting {
		delete(b.unwritten, key)
	}
	b.writeUnwritten(logger, obj, p, ownPatch)
}

// keepBack takes the operator's annotations out of the patch until it fits, biggest first, and
// returns those that stay in it.
func (b *annotationBudget) keepBack(logger *slog.Logger, obj map[string]any, p, ownPatch *patch.Patch) (fitting []string) {
	for key, value := range annotationsOf(ownPatch) {
		if value != nil {
			fitting = append(fitting, key)
		}
	}
	size := annotationsSize(obj, p)
	if size <= patch.MaxAnnotationsSize {
		return fitting
	}
	needed := size
	values := annotationsOf(p)
	slices.SortFunc(fitting, func(a, b string) int {
		return cmp.Or(cmp.Compare(textLen(values[b]), textLen(values[a])), cmp.Compare(a, b))
	})
	for len(fitting) > 0 && size > patch.MaxAnnotationsSize {
		biggest := fitting[0]
		if text, ok := values[biggest].(string); ok {
			b.keep(biggest, text)
			p.DropAnnotations(func(key string) bool { return key == biggest })
			size = annotationsSize(obj, p)
		}
		fitting = fitting[1:]
	}
	if size > patch.MaxAnnotationsSize {
		dropHandlersAnnotations(logger, p)
	}
	b.warnFull(logger, obj, needed)
	return fitting
}

// keep remembers an annotation that cannot be written.
func (b *annotationBudget) keep(key, text string) {
	if b.unwritten == nil {
		b.unwritten = make(map[string]string, 1)
	}
	b.unwritten[key] = text
}

// forgetRemoved forgets unwritten annotations that are removed by now.
func (b *annotationBudget) forgetRemoved(obj map[string]any, p, ownPatch *patch.Patch) {
	if len(b.unwritten) == 0 {
		return
	}
	for key, value := range annotationsOf(ownPatch) {
		if _, ok := b.unwritten[key]; !ok || value != nil {
			continue
		}
		delete(b.unwritten, key)
		if _, written := object.Annotations(obj)[key]; !written {
			p.Discard(object.Path{"metadata", "annotations", key})
		}
	}
}

// dropHandlersAnnotations drops the annotations that handlers set. Retries would fail too, and would
// prevent the deletion of the object.
func dropHandlersAnnotations(logger *slog.Logger, p *patch.Patch) {
	if dropped := p.DropAnnotations(func(string) bool { return true }); len(dropped) > 0 {
		logger.Error(fmt.Sprintf("Annotations set by handlers do not fit on the object; discarding them: %s",
			strings.Join(dropped, ", ")), observe.EventKey, observe.LogAnnotationsDropped)
	}
}

// writeUnwritten adds the unwritten annotations to the patch if all of them fit. They are also a part
// of the operator's own patch, which is kept until it is written.
func (b *annotationBudget) writeUnwritten(logger *slog.Logger, obj map[string]any, p, ownPatch *patch.Patch) {
	if len(b.unwritten) == 0 {
		return
	}
	size := annotationsSize(obj, p)
	for key, text := range b.unwritten {
		size += len(key) + len(text) - sizeOf(object.Annotations(obj), key)
	}
	if size > patch.MaxAnnotationsSize {
		return
	}
	for key, text := range b.unwritten {
		p.Set(object.Path{"metadata", "annotations", key}, text)
		ownPatch.Set(object.Path{"metadata", "annotations", key}, text)
	}
	b.unwritten = nil
	logger.Info("Annotations fit on the object again; writing those kept in memory", observe.EventKey, observe.LogAnnotationsRestored)
}

// warnFull warns once for each object.
func (b *annotationBudget) warnFull(logger *slog.Logger, obj map[string]any, needed int) {
	if b.warned {
		return
	}
	b.warned = true
	annotations := object.Annotations(obj)
	names := slices.SortedFunc(maps.Keys(annotations), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizeOf(annotations, b), sizeOf(annotations, a)), cmp.Compare(a, b))
	})
	biggest := make([]string, 0, 3)
	for _, name := range names[:min(3, len(names))] {
		biggest = append(biggest, fmt.Sprintf("%s (%d bytes)", name, sizeOf(annotations, name)))
	}
	logger.Warn(fmt.Sprintf("Annotations of the object are full (%d bytes of %d); keeping the operator's own in memory until they fit. "+
		"Handlers may be called again after a restart. Shorten the biggest annotations: %s",
		needed, patch.MaxAnnotationsSize, cmp.Or(strings.Join(biggest, ", "), "none but the operator's own")),
		observe.EventKey, observe.LogAnnotationsFull)
}

func annotationsOf(p *patch.Patch) map[string]any {
	annotations, _ := p.Lookup(object.Path{"metadata", "annotations"})
	out, _ := annotations.(map[string]any)
	return maps.Clone(out)
}

func annotationsSize(object map[string]any, p *patch.Patch) (size int) {
	p.Edit(func(merge map[string]any) { size = patch.AnnotationsSize(object, merge) })
	return size
}

func sizeOf(annotations map[string]any, key string) int {
	value, ok := annotations[key]
	if !ok {
		return 0
	}
	return len(key) + textLen(value)
}

func textLen(value any) int {
	s, _ := value.(string)
	return len(s)
}
