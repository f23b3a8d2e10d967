package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// The annotations of an object have a common limit, which people and other controllers can
// use up. The server then refuses every patch with a mark in it: without precautions, the
// object could be neither handled nor deleted. So what does not fit is kept in memory, and
// laid over the object where marks are read. It is as good as written as long as this
// operator runs, and is written as soon as there is room.

// unwritten are the annotations that there was no room for.
type unwritten map[string]string

// over returns the object as it would be with the annotations.
func (u unwritten) over(obj map[string]any) map[string]any {
	if len(u) == 0 {
		return obj
	}
	annotations := maps.Clone(object.Annotations(obj))
	if annotations == nil {
		annotations = make(map[string]any, len(u))
	}
	for key, value := range u {
		annotations[key] = value
	}
	return object.With(obj, object.Path{"metadata", "annotations"}, annotations)
}

// fit takes out of the patch those marks that the object has no room for, the biggest
// first, and remembers them.
func (c *cycle) fit(p, marks *patch.Patch) {
	if len(c.memory.unwritten) == 0 && annotationsSize(c.tree, p) <= patch.MaxAnnotationsSize {
		return // as nearly always
	}
	c.forgetPurged(p, marks)
	var written []string // marks that are annotations
	size, most := 0, 0
	for key, value := range annotationsOf(marks) {
		if value != nil {
			written = append(written, key)
		}
	}
	size = annotationsSize(c.tree, p)
	if size > patch.MaxAnnotationsSize {
		most = size
		marked := annotationsOf(p)
		slices.SortFunc(written, func(a, b string) int {
			return cmp.Or(cmp.Compare(textLen(marked[b]), textLen(marked[a])), cmp.Compare(a, b))
		})
		for len(written) > 0 && size > patch.MaxAnnotationsSize {
			if text, ok := marked[written[0]].(string); ok {
				c.memory.remember(written[0], text)
				p.DropAnnotations(func(key string) bool { return key == written[0] })
				size = annotationsSize(c.tree, p)
			}
			written = written[1:]
		}
		c.dropOversized(p, size)
		c.warnFull(most)
	}
	for _, key := range written {
		delete(c.memory.unwritten, key)
	}
	c.catchUp(p)
}

// forgetPurged forgets the marks that are removed, and does not remove from the object what
// was never written there.
func (c *cycle) forgetPurged(p, marks *patch.Patch) {
	if len(c.memory.unwritten) == 0 {
		return
	}
	for key, value := range annotationsOf(marks) {
		if _, ok := c.memory.unwritten[key]; !ok || value != nil {
			continue
		}
		delete(c.memory.unwritten, key)
		if _, there := object.Annotations(c.tree)[key]; !there {
			p.Discard(object.Path{"metadata", "annotations", key})
		}
	}
}

// dropOversized gives up annotations that handlers have set. To try in vain again and again
// would help nobody, and would keep the object from being deleted.
func (c *cycle) dropOversized(p *patch.Patch, size int) {
	if size <= patch.MaxAnnotationsSize {
		return
	}
	if dropped := p.DropAnnotations(func(string) bool { return true }); len(dropped) > 0 {
		c.logger.Error(fmt.Sprintf("The annotations that handlers have set are thrown away, since the object has no room for them: %s.",
			strings.Join(dropped, ", ")))
	}
}

// catchUp writes what is only remembered once there is room for all of it.
func (c *cycle) catchUp(p *patch.Patch) {
	if len(c.memory.unwritten) == 0 {
		return
	}
	size := annotationsSize(c.tree, p)
	for key, text := range c.memory.unwritten {
		size += len(key) + len(text) - sizeOf(object.Annotations(c.tree), key)
	}
	if size > patch.MaxAnnotationsSize {
		return
	}
	for key, text := range c.memory.unwritten {
		p.Set(object.Path{"metadata", "annotations", key}, text)
	}
	c.memory.unwritten = nil
	c.logger.Info("There is room for annotations again: what was only kept in memory is written to the object.")
}

func (c *cycle) warnFull(size int) {
	if !c.memory.warnOnce("full") {
		return
	}
	annotations := object.Annotations(c.tree)
	names := slices.SortedFunc(maps.Keys(annotations), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizeOf(annotations, b), sizeOf(annotations, a)), cmp.Compare(a, b))
	})
	biggest := make([]string, 0, 3)
	for _, name := range names[:min(3, len(names))] {
		biggest = append(biggest, fmt.Sprintf("%s (%d bytes)", name, sizeOf(annotations, name)))
	}
	c.logger.Warn(fmt.Sprintf("The annotations of the object are full: they would have %d bytes of the %d allowed. "+
		"The operator keeps its marks in memory until there is room, and after a restart handlers can be called again. The biggest annotations: %s.",
		size, patch.MaxAnnotationsSize, cmp.Or(strings.Join(biggest, ", "), "none but the operator's own")))
}

// remember keeps a mark that cannot be written.
func (m *memory) remember(key, text string) {
	if m.unwritten == nil {
		m.unwritten = make(unwritten, 1)
	}
	m.unwritten[key] = text
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
