package cycle

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// background is the view of an object's daemons and timers for subscribers. It implements [observe.Background].
type background daemons.Group

// Task implements [observe.Background].
func (b *background) Task(handlerID string) (observe.Task, bool) {
	tasks := (*daemons.Group)(b).Tasks()
	i := slices.IndexFunc(tasks, func(t *daemons.Task) bool { return t.Handler.ID == handlerID })
	if i < 0 {
		return observe.Task{}, false
	}
	due, waiting := tasks[i].Due()
	return observe.Task{Stopping: tasks[i].Reason() != 0, Due: due, Waiting: waiting}, true
}

// Retired implements [observe.Background].
func (b *background) Retired(handlerID string) bool {
	_, retired := (*daemons.Group)(b).Retired()[handlerID]
	return retired
}
