package engine

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// unrecorded is what a cycle has done and the API server has not accepted: the answer was strange, or
// none came. It is written before any other handler of changes is called, so that none is called twice
// because its record was refused. It is lost only with the process.
type unrecorded struct {
	handlers *patch.Patch // the changes and the results of handlers
	own      *patch.Patch // the operator's own changes, without the finalizer, which is decided on again

	outcomes   []string // ids of the handlers
	finished   bool     // nothing was left to do for the cause
	failed     bool     // not only postponed because the object has changed meanwhile
	since      time.Time
	rejections int // of the changes of handlers
}

// maxHeldFns limits the transformations that are held, as each attempt at the patch runs all of them, and
// handlers of raw events go on adding some.
const maxHeldFns = 100

// add adds the changes of handlers of raw events. It returns the number of transformations that it
// discards because there would be too many.
func (u *unrecorded) add(p *patch.Patch) (discarded int) {
	p = p.Take()
	if n := len(p.Fns()); len(u.handlers.Fns())+n > maxHeldFns {
		p.DropFns()
		discarded = n
	}
	u.handlers.Append(p)
	return discarded
}

func (u *unrecorded) empty() bool {
	return (u.handlers == nil || u.handlers.Empty()) && (u.own == nil || u.own.Empty())
}

// overlay returns the object as if the operator's own changes were written.
func (u *unrecorded) overlay(obj map[string]any) map[string]any {
	if u == nil || u.own == nil || u.own.Empty() {
		return obj
	}
	return patch.Merged(obj, u.own.Tree())
}
