package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// send sends the held changes. Each request counts for itself: the outbox drops accepted changes. If the API server
// refuses the changes by handlers, the rest is sent without them, so that no outcome is lost.
func (o *outbox) send(to *target) (err error) {
	w, ownFns := o.held, o.held.own.Fns()
	w.handlers, err = o.attempt(to, w.handlers)
	if v := w.verdict(err, to); v != repeatIt && !failsTransformations(err) {
		err = o.sendRest(to, ownFns, v, err)
	}
	if w.own.Empty() && w.verdict(err, to) == keepIt {
		w.refusals++
	}
	if w.empty() {
		o.held = nil
	}
	return err
}

// attempt sends changes by handlers together with the operator's own, as far as they fit, and returns the rest of
// the former. The finalizer is decided on again.
func (o *outbox) attempt(to *target, handlers *patch.Patch) (left *patch.Patch, err error) {
	w, whole, remaining := o.held, patch.NewPatch(), (*patch.Patch)(nil)
	whole.Append(handlers)
	whole.Append(w.own)
	o.fit(to, whole)
	if !whole.Empty() {
		remaining, err = to.send(whole)
	}
	w.own, left = w.own.UnsentFields(remaining), handlers.Unsent(remaining)
	if failsTransformations(err) && w.verdict(err, to) == dropIt {
		left.DropFns()
	}
	return left, err
}

// sendRest sends the rest without the refused fields that handlers have set. If the API server accepts the rest, the
// verdict on the fields counts; otherwise, nothing is dropped.
func (o *outbox) sendRest(to *target, ownFns []patch.Fn, v verdict, refusal error) error {
	w := o.held
	for _, fn := range ownFns {
		w.own.AddFn(fn)
	}
	fns, err := o.attempt(to, w.handlers.TakeFns())
	if w.own.Empty() && v == dropIt {
		to.logger.With(observe.ErrorAttrs(refusal)...).Error("API server rejected the handlers' patch; discarding it", observe.EventKey, observe.LogPatchRejected)
		w.handlers = fns
		return err
	}
	w.handlers.Restore(fns)
	if w.own.Empty() {
		return refusal
	}
	return err
}

// verdict returns the fate of the part that a failed request was about: the first of the rest.
func (w *writes) verdict(err error, to *target) verdict {
	outsideStatus := func(p *patch.Patch) bool {
		_, status := p.Lookup(object.Path{"status"})
		return p.Fields() > 1 || p.Fields() == 1 && !status
	}
	about := theChanges
	switch {
	case failsTransformations(err):
		about = theTransformations
	case w.handlers.Fields() == 0, to.statusAlone && outsideStatus(w.own) && !outsideStatus(w.handlers):
		about = theRecords
	case pinsVersion(w.handlers.Tree()):
		about = thePinned
	}
	return verdictOn(answerAbout(about, err), about, w.refusals)
}
