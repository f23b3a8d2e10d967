package outbox

import (
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Send sends the held changes. The outbox drops the changes of each accepted request. If the API server refuses changes
// by handlers, Send sends the rest without them, so that no outcome is lost.
func (o *Outbox) Send(to *Target) (err error) {
	w, ownFns := o.Held, o.Held.Own.Fns()
	w.Handlers, err = o.attempt(to, w.Handlers)
	if v := w.verdict(err, to); v != repeatIt && !failsTransformations(err) {
		err = o.sendRest(to, ownFns, v, err)
	}
	if w.Own.Empty() && w.verdict(err, to) == keepIt {
		w.refusals++
	}
	if w.Empty() {
		o.Held = nil
	}
	return err
}

// attempt sends changes by handlers together with the operator's own changes, as far as they fit. It returns the unsent
// changes by handlers.
func (o *Outbox) attempt(to *Target, handlers *patch.Patch) (left *patch.Patch, err error) {
	w, whole, remaining := o.Held, o.fit(to, handlers), (*patch.Patch)(nil)
	if !whole.Empty() {
		remaining, err = to.Send(whole)
	}
	w.Own, left = w.Own.UnsentFields(remaining), handlers.Unsent(remaining)
	if failsTransformations(err) && w.verdict(err, to) == dropIt {
		left.DropFns()
	}
	return left, err
}

// sendRest sends the changes without the refused fields of handlers. If the API server accepts them, the verdict on the
// fields applies; otherwise, nothing is dropped.
func (o *Outbox) sendRest(to *Target, ownFns []patch.Fn, v verdict, refusal error) error {
	w := o.Held
	for _, fn := range ownFns {
		w.Own.AddFn(fn)
	}
	fns, err := o.attempt(to, w.Handlers.TakeFns())
	if w.Own.Empty() && v == dropIt {
		to.Logger.With(observe.ErrorAttrs(refusal)...).Error("API server rejected the handlers' patch; discarding it", observe.EventKey, observe.LogPatchRejected)
		w.Handlers = fns
		return err
	}
	w.Handlers.Restore(fns)
	if w.Own.Empty() {
		return refusal
	}
	return err
}

// verdict returns the fate of the part that made a request fail. Parts are sent in a fixed order, so this is the first
// unsent part.
func (w *Writes) verdict(err error, to *Target) verdict {
	outsideStatus := func(p *patch.Patch) bool {
		_, status := p.Lookup(object.Path{"status"})
		return p.Fields() > 1 || p.Fields() == 1 && !status
	}
	about := theChanges
	switch {
	case failsTransformations(err):
		about = theTransformations
	case w.Handlers.Fields() == 0, to.StatusAlone && outsideStatus(w.Own) && !outsideStatus(w.Handlers):
		about = theRecords
	case pinsVersion(w.Handlers.Tree()):
		about = thePinned
	}
	return verdictOn(answerAbout(about, err), about, w.refusals)
}
