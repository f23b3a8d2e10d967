package cycle

import (
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// maxLoopFields limits the fields in the alarm of a hot loop.
const maxLoopFields = 3

// noteLoop counts consecutive cycles in which the event of one patch causes the next patch. A patch with only the
// operator's own records neither starts nor ends a loop.
func (c *cycle) noteLoop(byHandlers bool) {
	loop, answered, changed := &c.memory.Loop, c.news == memory.NewsAnswer, c.sent.changed
	switch {
	case answered && len(c.batch.Events) == 0 && !byHandlers && !changed && c.served.Handlers.Has(handlers.Watching):
		return // the event of the version is still to come
	case !changed || c.sent.answer == nil:
		c.endLoop()
		return
	case !byHandlers:
		if loop.Written != "" {
			loop.Written = c.sent.answer.ResourceVersion
		}
		return
	case loop.Written == "" || len(c.batch.Events) == 0 && !answered || object.Precedes(loop.Written, c.object.ResourceVersion):
		c.endLoop() // time has passed, or another client changed the object
	case loop.Follow(c.changedFields, memory.AlarmRounds+len(c.served.Changing)) && (!loop.Raised || loop.Rounds%100 == 0):
		loop.Raised = true
		c.emitLoop(false)
	case loop.Raised && loop.Rounds == 0:
		c.endLoop()
	}
	loop.Written = c.sent.answer.ResourceVersion
}

// endLoop resets the count of noteLoop, because the patches of the object do not cause each other any longer, and ends the
// alarm if it was raised.
func (c *cycle) endLoop() {
	if c.memory.Loop.Raised {
		c.emitLoop(true)
	}
	c.memory.Loop = memory.HotLoop{}
}

func (c *cycle) emitLoop(over bool) {
	loop := &c.memory.Loop
	observe.Emit(c.deps.Sink, observe.AlarmChanged{
		Logger: c.unpostedSubject().Logger, Over: over, Again: over || !c.memory.Flags.WarnOnce("hot loop"),
		Alarm: inspect.Alarm{
			Kind: inspect.AlarmHotLoop, Since: c.deps.Now(), Count: loop.Rounds,
			Field:  strings.Join(loop.Fields[:min(len(loop.Fields), maxLoopFields)], ", "),
			Object: &inspect.Ref{Resource: c.served.Resource.Key(), Namespace: c.object.Namespace, Name: c.object.Name, UID: c.object.UID},
		},
	})
}

// changedFields returns the paths of the fields that the patch of the cycle changed, without the operator's own records
// and the fields that the API server sets.
func (c *cycle) changedFields() []string {
	after, err := c.sent.answer.Tree()
	if err != nil {
		return nil // the next cycle returns the error
	}
	defer c.sent.answer.DropTree()
	ignored := patch.NewPatch()
	ignored.Append(c.writes.Own)
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		ignored.Remove(object.Path{"metadata", field})
	}
	merge := ignored.Tree()
	var fields []string
	for _, item := range object.ComputeDiff(patch.Merged(c.view.Tree, merge), patch.Merged(after, merge)) {
		fields = append(fields, item.Path.String())
	}
	return fields
}
