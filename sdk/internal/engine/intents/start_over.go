package intents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// startOverPatience is how long startOver waits for the running cycle of the object.
const startOverPatience = time.Second

// startOver resets an object between two cycles, so that a running cycle cannot overwrite the reset with its outcome. It
// waits up to startOverPatience for the result; a failure that comes later is logged.
func (i *Intents) startOver(ctx context.Context, res *core.ServedResource, ref *inspect.Ref) error {
	waiting, cancel := context.WithTimeout(ctx, startOverPatience)
	defer cancel()
	done := make(chan error)
	queued := i.Deps.Queue.Between(queue.Key{Resource: ref.Resource, Object: ref.UID}, func(ctx context.Context) {
		err := i.reset(ctx, res, ref)
		select {
		case done <- err:
		case <-waiting.Done():
			if err != nil {
				i.Deps.Logger.Error("Cannot handle "+ref.Name+" from scratch: "+err.Error(), observe.EventKey, observe.LogStartOverFailed)
			}
		}
	})
	if queued {
		select {
		case err := <-done:
			return err
		case <-waiting.Done():
		}
	}
	if !queued || ctx.Err() != nil {
		return errors.New("the operator is stopping")
	}
	return nil
}

// reset removes the operator's records from an object: the progress of its handlers, their failures, and the
// last-handled state. The object is then handled as if it were new or, if it is being deleted, as if the deletion had
// just been requested. It must not be called during a cycle of the object.
func (i *Intents) reset(ctx context.Context, res *core.ServedResource, ref *inspect.Ref) (err error) {
	defer core.RecoverPanic(&err) // of a custom storage
	obj, err := i.newest(ctx, res, ref)
	if err != nil {
		return err
	}
	forget, err := forgetting(ctx, i.Deps, res, obj)
	if err != nil {
		return err
	}
	m := i.Memories.Find(queue.Key{Resource: ref.Resource, Object: ref.UID})
	if len(forget) == 0 {
		if m == nil || m.Outbox.Empty() {
			return errors.New("the operator has recorded nothing on " + ref.Name)
		}
		m.StartOver()
		i.requeue(ref.Resource, obj) // no event follows
		return nil
	}
	patched, err := sendForgetting(ctx, i.Deps, res, ref, forget)
	if m != nil && patched != nil {
		m.StartOver()
		m.Ledger.Wrote(patched, i.Deps.Now().Add(i.Deps.Settings.ConsistencyTimeout))
		i.requeue(ref.Resource, patched) // the handlers are called for this version
	}
	if kube.Classify(err) == kube.NotFound {
		return deleted(ref)
	}
	return err
}

// forgetting returns the merge patch that removes the records.
func forgetting(ctx context.Context, d *core.Deps, res *core.ServedResource, obj *object.Object) (map[string]any, error) {
	tree, err := obj.Tree()
	if err != nil {
		return nil, fmt.Errorf("decode the object: %w", err)
	}
	p := patch.NewPatch()
	storage := state.BindProgress(ctx, d.Settings.Progress, obj)
	progress, err := state.ReadProgress(tree, storage, res.Changing, d.Now())
	if err != nil {
		return nil, fmt.Errorf("read the progress: %w", err)
	}
	if err := progress.Purge(tree, storage, res.Changing, p); err != nil {
		return nil, fmt.Errorf("purge the progress: %w", err)
	}
	if err := state.ForgetLastHandled(state.BindDiffBase(ctx, d.Settings.DiffBase, obj), tree, p); err != nil {
		return nil, err
	}
	d.Failures.RemoveAll(tree, p)
	return p.Tree(), nil
}

// sendForgetting sends the patch; a status subresource gets a separate request. It returns the last version that the
// requests made, even if one of them failed.
func sendForgetting(ctx context.Context, d *core.Deps, res *core.ServedResource, ref *inspect.Ref, forget map[string]any) (patched *object.Object, err error) {
	type request struct {
		subresource string
		body        map[string]any
	}
	requests := []request{{"", forget}}
	if status, ok := forget["status"]; ok && res.Resource.HasSubresource("status") {
		delete(forget, "status")
		requests = []request{{"status", map[string]any{"status": status}}, {"", forget}}
	}
	for _, r := range requests {
		if len(r.body) == 0 {
			continue
		}
		text, err := json.Marshal(object.With(r.body, object.Path{"metadata", "uid"}, ref.UID))
		if err != nil {
			return patched, err
		}
		version, err := d.Client.Patch(ctx, res.Resource, ref.Namespace, ref.Name, r.subresource, patch.MergeType, text)
		if err != nil {
			return patched, err
		}
		patched = version
	}
	return patched, nil
}
