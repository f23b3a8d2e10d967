package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// longestSleep keeps the objects that wait for long alive: their workers wake up
// and touch them now and then, which also proves that they still can.
const longestSleep = 10 * time.Minute

// patchTimeout limits the last patches of an operator that is being stopped, after the
// time to exit is over. The queue waits a bit longer, so that nothing goes on when the
// operator has ended.
const patchTimeout = queue.AbandonAfter - 100*time.Millisecond

// apply sends what the cycle has collected. If that changes nothing, it returns what to
// do when the first of the delays is over: to touch the object. It is one or the other:
// a change makes a new event, and the next cycle takes care of the delays.
func (c *cycle) apply(ctx context.Context, batch *queue.Batch, delays []time.Duration) (*queue.Later, error) {
	if batch.Ended() {
		if !c.patch.Empty() || !c.marks.Empty() {
			c.logger.Debug("Patching was skipped: the object does not exist anymore.")
		}
		return nil, nil
	}
	delay, delayed := shortest(delays)
	if !c.patch.Empty() || !c.marks.Empty() {
		if err := c.progress.Touch(c.seen, "", c.marks); err != nil {
			return nil, err
		}
	}
	wishes, transforms := !c.patch.Empty(), c.patch.Fns()
	c.collect()
	changed := false
	if !c.patch.Empty() {
		var err error
		changed, err = c.send(ctx, c.patch)
		if wishes && refused(err) {
			changed, err = c.sendMarks(ctx, transforms, err)
		}
		if err != nil {
			if hopeless(err) {
				c.memory.untransformed = nil
			}
			return nil, err
		}
		c.memory.untransformed = nil
		if c.postponed {
			// Those of handlers, which are not called again for them. The finalizer's are not
			// among them: it is decided on anew.
			c.memory.untransformed = transforms
		}
	}
	look, looking := shortest(c.recheck)
	switch {
	case looking && !changed && (!delayed || look < delay):
		return &queue.Later{After: look}, nil
	case !delayed:
		if c.patch.Empty() && c.changing {
			c.logger.Debug("Handling cycle is finished, waiting for new changes.")
		}
		return nil, nil
	case changed:
		if delay > 0 {
			c.logger.Debug(fmt.Sprintf("Sleeping was skipped because of the patch, %v seconds left.", delay.Seconds()))
		}
		return nil, nil
	case delay > longestSleep:
		c.logger.Debug(fmt.Sprintf("Sleeping for %v (capped %v) seconds for the delayed handlers.", delay.Seconds(), longestSleep.Seconds()))
		delay = longestSleep
	case delay > 0:
		c.logger.Debug(fmt.Sprintf("Sleeping for %v seconds for the delayed handlers.", delay.Seconds()))
	}
	c.memory.asleep = c.now().Add(delay)
	return &queue.Later{After: delay, Do: c.wake}, nil
}

// sendMarks sends what is left of a patch that the cluster has refused as a whole: the
// marks, and the transformations, which are requests of their own. If the marks fell with
// the wishes of a handler, the handler would be called again and again, for the same end.
func (c *cycle) sendMarks(ctx context.Context, transforms []patch.Fn, refusal error) (changed bool, err error) {
	c.logger.With(reasons(refusal)...).Error("What handlers want to be changed, and their results, are refused by the cluster: they are given up.")
	for _, transform := range transforms {
		c.marks.AddFn(transform)
	}
	c.fit(c.marks, c.marks)
	if c.patch = c.marks; c.patch.Empty() {
		return false, nil
	}
	return c.send(ctx, c.patch)
}

// wake touches the object when a delay is over. Nobody else would come back for it: if that
// fails, it is tried again.
func (c *cycle) wake(ctx context.Context) *queue.Later {
	c.memory.asleep = time.Time{}
	err := c.touch(ctx)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	delay := max(time.Second, c.memory.throttle.Failed(c.now(), c.settings.ErrorDelays))
	c.logger.With(reasons(err)...).Error(fmt.Sprintf("The object cannot be touched, and its delayed handlers wait: it is tried again in %s.", delay))
	return &queue.Later{After: delay, Do: c.wake}
}

// touch makes a change that means nothing, so that there is an event and a new cycle.
func (c *cycle) touch(ctx context.Context) (err error) {
	defer survive(&err)
	touch := patch.NewPatch()
	if err := c.progress.Touch(c.seen, object.FormatTime(c.now()), touch); err != nil {
		return err
	}
	c.fit(touch, touch)
	if touch.Empty() {
		// There is no room for it, or the progress is stored elsewhere.
		c.queue.Again(c.resource.Key(), watch.Event{Type: c.event, Object: c.object})
		return nil
	}
	_, err = c.send(ctx, touch)
	return err
}

// send applies a patch and remembers the version it makes, so that no decision is
// made on an older one. It tells whether the object was there and is another now, or
// will be: then there is an event to come.
func (c *cycle) send(ctx context.Context, p *patch.Patch) (changed bool, err error) {
	ctx, cancel := outliving(ctx, patchTimeout)
	defer cancel()
	obj := c.object
	result, err := c.patchObject(ctx, obj, p, c.logger)
	made, _ := result.Object.(*object.Object)
	if made != nil {
		// Also if a later request has failed: what the earlier ones recorded counts.
		c.memory.wrote, c.memory.deadline = made.ResourceVersion, c.now().Add(c.settings.ConsistencyTimeout)
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("patching %s: %w", c.object, err)
	case result.Gone:
		c.logger.Debug("Patching was skipped: the object does not exist anymore.")
		return true, nil
	case result.Remaining != nil:
		c.logger.Debug("Patching was postponed: the object has changed meanwhile.")
		changed, c.postponed = true, true
	case c.release && made != nil && made.Deleting:
		// The object is gone, unless others hold it: no version of it is to be waited for.
		c.memory.released, c.memory.wrote = true, ""
		return true, nil
	}
	if made == nil {
		return changed, nil
	}
	c.checkPruned(c.memory, c.logger, p, made)
	c.made = made
	return changed || made.ResourceVersion != obj.ResourceVersion, nil
}

// patchObject sends a patch of an object in as few requests as possible.
func (s *server) patchObject(ctx context.Context, object *object.Object, p *patch.Patch, logger *slog.Logger) (result patch.Result, err error) {
	defer survive(&err)
	result, err = p.Send(object, s.resource.HasSubresource("status"), func(call patch.Call) (patch.Object, int, error) {
		logPatch(logger, call)
		body, err := json.Marshal(call.Payload)
		if err != nil {
			return nil, 0, err
		}
		patched, err := s.client.Patch(ctx, s.resource, object.Namespace, object.Name, call.Subresource, call.ContentType, body)
		if call.ContentType == patch.JSONType && invalid(err) {
			return nil, 0, &transformError{err}
		}
		if err != nil {
			return nil, kube.Status(err), err
		}
		return patched, http.StatusOK, nil
	})
	if errors.Is(err, patch.ErrTransform) {
		err = &transformError{err}
	}
	return result, err
}

// outliving returns a context that ends some time after another one has: what the
// handlers have done must be recorded even if the operator stops now.
func outliving(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
	}
}

func logPatch(logger *slog.Logger, call patch.Call) {
	if !logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	target := "the resource"
	if call.Subresource != "" {
		target = "the " + call.Subresource
	}
	kind := "Merge-patching"
	if call.ContentType == patch.JSONType {
		kind = "JSON-patching"
	}
	logger.Debug(kind+" "+target+".", "patch", payload{call.Payload})
}

func shortest(delays []time.Duration) (time.Duration, bool) {
	if len(delays) == 0 {
		return 0, false
	}
	least := delays[0]
	for _, d := range delays[1:] {
		least = min(least, d)
	}
	return least, true
}
