package intents

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// startOver removes the operator's records from an object: the progress of its handlers, their failures, and the
// last-handled state. The object is then handled as if it were new or, if it is being deleted, as if the deletion had
// just been requested. It must not be called during a cycle of the object. If it fails, it returns the reason.
func startOver(ctx context.Context, d *core.Deps, streams *serving.Streams, memories *memory.Memories, ref inspect.Ref) (reason string) {
	res := streams.Served(ref.Resource)
	if res == nil {
		return ref.Name + " is unknown to the operator"
	}
	obj, err := d.NewestVersion(ctx, res.Resource, ref.Namespace, ref.Name, ref.UID)
	switch {
	case err != nil:
		return err.Error()
	case obj == nil:
		return ref.Name + " was deleted"
	}
	forget, err := forgetting(ctx, d, res, obj)
	if err != nil {
		return err.Error()
	}
	m := memories.Find(queue.Key{Resource: ref.Resource, Object: ref.UID})
	unwritten := m != nil && !m.Outbox.Empty()
	switch {
	case len(forget) == 0 && !unwritten:
		return "the operator has recorded nothing on " + ref.Name
	case len(forget) == 0:
		m.StartOver()
		d.Queue.Again(queue.Live, ref.Resource, watch.Event{Type: watch.Modified, Object: obj}) // no event follows
		return ""
	}
	patched, err := sendForgetting(ctx, d, res, ref, forget)
	if m != nil && patched != nil {
		m.StartOver()
		m.Ledger.Wrote(patched, d.Now().Add(d.Settings.ConsistencyTimeout))
		d.Queue.Again(queue.Live, ref.Resource, watch.Event{Type: watch.Modified, Object: patched}) // the handlers are called for this version
	}
	if kube.Classify(err) == kube.NotFound {
		return ref.Name + " was deleted"
	}
	if err != nil {
		return err.Error()
	}
	return ""
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
func sendForgetting(ctx context.Context, d *core.Deps, res *core.ServedResource, ref inspect.Ref, forget map[string]any) (patched *object.Object, err error) {
	send := func(subresource string, body map[string]any) error {
		metadata, _ := body["metadata"].(map[string]any)
		if metadata == nil {
			metadata = map[string]any{}
			body["metadata"] = metadata
		}
		metadata["uid"] = ref.UID
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		version, err := d.Client.Patch(ctx, res.Resource, ref.Namespace, ref.Name, subresource, patch.MergeType, text)
		if err == nil {
			patched = version
		}
		return err
	}
	if status, ok := forget["status"]; ok && res.Resource.HasSubresource("status") {
		delete(forget, "status")
		if err := send("status", map[string]any{"status": status}); err != nil || len(forget) == 0 {
			return patched, err
		}
	}
	err = send("", forget)
	return patched, err
}
