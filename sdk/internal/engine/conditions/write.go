package conditions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

const (
	// messageEvery is the minimum time between two requests if only messages have changed, or if another program has changed the
	// conditions.
	messageEvery = 10 * time.Second

	// conflictDelay is the delay before a request is repeated after a conflict, unless the newer version of the object arrives earlier.
	conflictDelay = time.Second
)

// Write implements [core.ObjectConditions].
func (o *Object) Write(ctx context.Context, in *core.Handling) (made *object.Object, again time.Duration, later bool) {
	verdict, decided := o.judge(in)
	if !decided {
		return nil, 0, in.Changing || in.Reconciles
	}
	now := o.keeper.deps.Now()
	if wait := o.again.Sub(now); wait > 0 {
		return nil, wait, true
	}
	made, again, err := o.write(ctx, in, verdict, now)
	switch {
	case err == nil:
		o.errors, o.again = 0, time.Time{}
		return made, again, again > 0
	case core.IsFenced(err), errors.Is(err, errGone), ctx.Err() != nil:
		return nil, 0, false
	}
	return nil, o.failed(in, err, now), true
}

// failed records a failed request, and returns the delay before the next request. It logs only the first error in a row.
func (o *Object) failed(in *core.Handling, err error, now time.Time) time.Duration {
	delay := time.Second
	position := 0
	for d := range queue.DefaultErrorDelays {
		delay = d
		if position++; position > o.errors || d > time.Minute {
			break
		}
	}
	if o.errors++; o.errors == 1 {
		in.Subject.Logger.With(observe.ErrorAttrs(err)...).Warn(fmt.Sprintf("Cannot write the conditions; retrying in %s, and later less often", delay),
			observe.EventKey, observe.LogConditionsFailed)
	}
	o.again = now.Add(delay)
	return delay
}

// errGone means that the object was deleted.
var errGone = errors.New("the object does not exist")

func (o *Object) write(ctx context.Context, in *core.Handling, verdict Verdict, now time.Time) (made *object.Object, again time.Duration, err error) {
	support, err := o.keeper.support(ctx, o.served.Load())
	switch {
	case err != nil:
		return nil, 0, err
	case support.form == absent:
		return nil, 0, nil
	case support.form == unpublished:
		return nil, unpublishedFor, nil
	}
	s, err := o.situation(in, verdict, support, now)
	if err != nil {
		return nil, 0, err
	}
	if o.support != support {
		o.support, o.refused = support, "" // with another definition, the API server may store the refused content
	}
	d := decide(s)
	switch contested := d.content == o.content; {
	case d.content == o.refused:
		return nil, 0, nil
	case d.same && !o.removes(s):
		o.clear(s.set)
		o.content = d.content
		return nil, 0, nil
	case (d.messages || contested) && now.Before(o.written.Add(messageEvery)):
		return nil, o.written.Add(messageEvery).Sub(now), nil
	case contested && o.keeper.warnOnce("contested "+o.served.Load().Resource.Key()):
		in.Subject.Logger.Warn("Another program has changed the conditions that the operator keeps; writing them again, every 10 seconds at most. "+
			"metadata.managedFields names the program", observe.EventKey, observe.LogConditionsContested)
	}
	if !s.whole && o.owned == nil {
		if o.owned, err = o.readOwned(ctx, in, s); err != nil {
			return nil, 0, err
		}
		s.owned = o.owned
		d = decide(s)
	}
	if d.same {
		o.clear(s.set) // only a removal was left, of a condition that handlers do not own
		return nil, 0, nil
	}
	made, err = o.send(ctx, in.Newest, d.status)
	switch {
	case kube.Classify(err) == kube.NotFound, kube.IsOtherUID(err):
		return nil, 0, errGone
	case kube.Classify(err) == kube.Conflict:
		return nil, conflictDelay, nil // usually, the event of the newer version arrives first
	case kube.Classify(err) == kube.Rejected, kube.Classify(err) == kube.Invalid:
		in.Subject.Logger.With(observe.ErrorAttrs(in.Subject.Secrets.Error(err, d.status))...).Error("API server rejected the conditions; discarding them",
			observe.EventKey, observe.LogConditionsRejected)
		o.refused = d.content
		o.clear(s.set)
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	}
	o.wrote(s, d.content, now)
	o.check(in, s, made)
	return made, 0, nil
}

// situation returns the input of the decision.
func (o *Object) situation(in *core.Handling, verdict Verdict, support *support, now time.Time) (*situation, error) {
	tree, err := in.Newest.Tree()
	if err != nil {
		return nil, err
	}
	s := &situation{
		verdict: verdict, set: o.unwritten(), owned: o.owned, whole: support.form == whole, observes: support.observes, now: now,
	}
	s.verdict.Message = in.Subject.Secrets.Text(s.verdict.Message)
	s.live, _ = tree["status"].(map[string]any)
	if o.served.Load().Resource.HasSubresource("status") {
		s.generation = in.Generation // without the subresource, each write raises the generation
	}
	return s, nil
}

// removes reports whether a handler removes a condition in the status, and managedFields must show if handlers own the condition.
func (o *Object) removes(s *situation) bool {
	return o.owned == nil && !s.whole && slices.ContainsFunc(slices.Collect(maps.Values(s.set)), func(c condition) bool {
		live, _ := s.live["conditions"].([]any)
		_, exists := find(live, c.typ)
		return c.status == "" && exists
	})
}

// readOwned returns the types of the conditions that handlers have set, including in earlier processes. It sends a request only if
// the status has such conditions of unknown managers.
func (o *Object) readOwned(ctx context.Context, in *core.Handling, s *situation) (map[string]bool, error) {
	if !s.hasUnattributed() {
		return map[string]bool{}, nil
	}
	list, err := o.keeper.deps.Client.List(ctx, o.served.Load().Resource, in.Newest.Namespace, kube.ListOptions{
		FieldSelector: "metadata.name=" + in.Newest.Name, MetadataOnly: true, KeepManagedFields: true,
	})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Items, func(found *object.Object) bool { return found.UID == in.Newest.UID })
	if i < 0 {
		return nil, errGone
	}
	tree, err := list.Items[i].Tree()
	if err != nil {
		return nil, err
	}
	return appliedTypes(object.Metadata(tree)["managedFields"], o.manager()), nil
}

func (o *Object) manager() string {
	return children.Manager(o.keeper.deps.Failures.Prefix, o.served.Load().Resource.GVR().GroupResource().String()) + children.StatusSuffix
}

// send applies a status to a version of the object. If the object has changed since this version, the API server returns a conflict.
func (o *Object) send(ctx context.Context, version *object.Object, status map[string]any) (*object.Object, error) {
	if err := fence.MayBegin(ctx); err != nil {
		return nil, core.ErrStopping
	}
	meta := map[string]any{"name": version.Name, "uid": version.UID, "resourceVersion": version.ResourceVersion}
	if version.Namespace != "" {
		meta["namespace"] = version.Namespace
	}
	res := o.served.Load().Resource
	body, err := object.AppendJSON(nil, map[string]any{
		"apiVersion": res.APIVersion(), "kind": res.Kind, "metadata": meta, "status": status,
	}, nil)
	if err != nil {
		return nil, err
	}
	request := kube.ApplyRequest{
		Namespace: version.Namespace, Name: version.Name, Manager: o.manager(), Force: true, Body: body, DropManagedFields: true,
	}
	if res.HasSubresource("status") {
		request.Subresource = "status"
	}
	return o.keeper.deps.Client.Apply(ctx, res, request)
}

// wrote records an accepted request.
func (o *Object) wrote(s *situation, content string, now time.Time) {
	o.content, o.written, o.refused = content, now, ""
	for typ, c := range s.set {
		if o.owned == nil {
			break // handlers own no conditions if the list is applied as a whole
		}
		o.owned[typ] = true
		if c.status == "" {
			delete(o.owned, typ)
		}
	}
	o.clear(s.set)
}

// check compares the answer of the API server with the applied conditions. If they differ, for example because of an admission
// policy, the operator does not write these conditions again.
func (o *Object) check(in *core.Handling, s *situation, made *object.Object) {
	defer made.DropTree()
	tree, err := made.Tree()
	if err != nil {
		return // the next cycle reads the same version, and returns the error
	}
	after := *s
	after.live, _ = tree["status"].(map[string]any)
	if d := decide(&after); !d.same {
		o.refused = d.content
		in.Subject.Logger.Error("API server stored other conditions than the operator sent; not writing these conditions again",
			observe.EventKey, observe.LogConditionsRejected)
	}
}

// unwritten returns a copy of the conditions that handlers have set, and that no request has written yet.
func (o *Object) unwritten() map[string]condition {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.set)
}

// clear removes written conditions from the unwritten conditions, unless a handler has changed them in the meantime.
func (o *Object) clear(written map[string]condition) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.set, func(typ string, c condition) bool { return c == written[typ] })
}
