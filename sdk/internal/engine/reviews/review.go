package reviews

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// review is one review that is being answered. It is used by one goroutine.
type review struct {
	request *admission.Request
	limit   time.Duration // time limit for all handlers together
	size    int           // size of the request, in bytes
	replay  string        // id of the replayed review; empty if the API server sent the review

	subject *observe.Subject
	tree    map[string]any // object as the API server sent it, set once a handler changes it; must not be modified
	patch   *patch.Patch   // changes by the handlers so far
	mutated map[string]any // object with the patch applied
	ops     []patch.Op     // patch for the API server
	errs    []error
	called  []observe.ReviewedHandler

	mu       sync.Mutex
	warnings []string
}

// warn adds warnings of a handler. An abandoned handler may call it at any time.
func (v *review) warn(more []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.warnings = append(v.warnings, more...)
}

var errValidatorPatches = errors.New("it only validates, and cannot change the object; register it with OnMutate")

// review calls the handlers of a review, and returns the response. An error means that the review cannot be answered.
func (r *Reviews) review(ctx context.Context, v *review) (*admission.Response, error) {
	res, err := r.find(ctx, v.request.Resource)
	if err != nil {
		return nil, err
	}
	asked, err := v.asked(res)
	if err != nil {
		return nil, err
	}
	began := r.deps.Now()
	end, err := r.claim(ctx, v.request)
	if err != nil {
		return nil, err
	}
	defer end()
	if v.replay == "" && checkWeight(v.request, "review", 1) == nil && r.isOwn(ctx, res, v.request) {
		r.deps.Logger.Debug("Admitting the operator's own records on "+v.request.Subject().String()+" without asking the admission handlers",
			observe.EventKey, observe.LogReviewOwn)
		return &admission.Response{Allowed: true}, nil
	}
	v.patch = patch.NewPatch()
	v.subject = r.subject(res, v.request)
	cause := &handlers.Cause{
		Resource: res.Resource, Object: v.request.Subject(), Review: &v.request.Review, Context: ctx,
		Views: &handlers.Views{Memo: r.memo(res, v.request)},
	}
	selected, err := selected(v, res, cause)
	if err != nil {
		v.failed(asked, err)
	}
	for _, h := range selected {
		r.call(ctx, v, h, cause)
	}
	v.mu.Lock()
	response := admission.Respond(v.errs, v.warnings, v.ops) // later warnings are lost
	v.mu.Unlock()
	r.emit(v, &response, began)
	return &response, nil
}

// asked returns the handler with the review's handler id; nil if the review has none. The error for an unknown id fails the
// webhook call, so that the webhook's failure policy decides, which the operator does not know.
func (v *review) asked(res *core.ServedResource) (*handlers.Handler, error) {
	id, all := v.request.HandlerID, res.Handlers.Handlers(handlers.Admission)
	if id == "" {
		return nil, nil
	}
	if i := slices.IndexFunc(all, func(h *handlers.Handler) bool { return h.ID == id }); i >= 0 {
		return all[i], nil
	}
	return nil, &admission.InvalidError{Status: http.StatusNotImplemented, Reason: fmt.Sprintf(
		"the operator has no admission handler %q of %s; register one with this id, or remove its webhook from the configuration",
		admission.Clip(id), v.request.Resource)}
}

// selected returns the handlers to call. A filter that panics denies the request.
func selected(v *review, res *core.ServedResource, cause *handlers.Cause) (selected []*handlers.Handler, err error) {
	defer core.RecoverPanic(&err)
	if err := checkWeight(v.request, "review", 1); err != nil {
		return nil, err
	}
	if res.Handlers.NeedsTree(handlers.Admission) {
		if cause.Tree, err = cause.Object.Tree(); err != nil {
			return nil, err
		}
	}
	return res.Handlers.Selected(handlers.Admission, cause), nil
}

func (r *Reviews) subject(res *core.ServedResource, request *admission.Request) *observe.Subject {
	obj := request.Subject()
	secrets := r.deps.Settings.Redaction.Of(res.Resource, request.Object, request.Old)
	return &observe.Subject{
		Resource: res.Resource, Object: obj, Reference: core.Reference(obj), Secrets: secrets,
		Logger: observe.WithoutSecrets(observe.ObjectLogger(r.deps.Logger, res.Resource, obj), secrets),
	}
}

// memo returns the memo of the object if the operator remembers it, and otherwise a temporary one.
func (r *Reviews) memo(res *core.ServedResource, request *admission.Request) any {
	obj := request.Subject()
	if request.Operation != handlers.OperationCreate && obj.UID != "" {
		if memo, known := r.memories.FindMemo(queue.KeyOf(res.Resource.Key(), obj), obj.Namespace); known {
			return memo
		}
	}
	return r.deps.NewMemo()
}

func (r *Reviews) call(ctx context.Context, v *review, h *handlers.Handler, cause *handlers.Cause) {
	changes := patch.NewPatch()
	if h.Family == handlers.Mutate {
		changes.Append(v.patch) // a copy, so that changes before a failure are dropped
	}
	a := &call.Attempt{
		Subject: v.subject,
		Call: &handlers.Call{
			Cause: cause, Handler: h, Patch: changes, Memo: cause.Views.Memo, Recorder: r.recorder(v, h),
			Logger: v.subject.Logger.With(observe.HandlerKey, h.ID), Warn: v.warn,
		},
		Grace: time.Millisecond, // the API server waits
		Then: func(ctx context.Context) error {
			if ctx.Err() != nil { // the handler may have left its work undone, whatever it returns
				return fmt.Errorf("%s: its context has ended: %w", h, context.Cause(ctx))
			}
			if h.Family == handlers.Validate && !changes.Empty() {
				return handlers.AsPermanent(fmt.Errorf("%s: %w", h, errValidatorPatches))
			}
			return v.mutate(changes)
		},
	}
	out, _ := r.invoker.Try(ctx, a)
	err := out.Err
	if err != nil && errors.Is(context.Cause(ctx), handlers.ErrTimeout) {
		err = handlers.AsPermanent(fmt.Errorf("%s has not ended within %s: %w", h, v.limit, handlers.ErrTimeout))
	}
	v.called = append(v.called, observe.ReviewedHandler{Handler: h, Took: a.Ended.Sub(a.Began), Err: err})
	if err != nil {
		v.failed(h, err)
	}
}

// failed records the error of a handler; an unknown handler is nil. The error denies the request, unless the handler's
// failures are ignored.
func (v *review) failed(h *handlers.Handler, err error) {
	if h != nil && h.Admission.IgnoreFailures {
		v.warn([]string{fmt.Sprintf("%s is ignored: %s", h.ID, handlers.ErrorText(err))})
		return
	}
	v.errs = append(v.errs, err)
}

// mutate applies the changes of handlers. The object of a deletion cannot be changed.
func (v *review) mutate(changes *patch.Patch) error {
	if v.request.Object == nil || changes.Empty() {
		return nil
	}
	err := checkWeight(v.request, "change", treesOfPatch)
	if err == nil {
		v.tree, err = v.request.Object.Tree()
	}
	if err != nil {
		return err
	}
	mutated, ops, err := changes.Apply(v.tree)
	if err != nil {
		return handlers.AsPermanent(v.subject.Secrets.Error(fmt.Errorf("change the object: %w", err), v.tree))
	}
	v.patch, v.mutated, v.ops = changes, mutated, ops
	return nil
}

// recorder returns the recorder of a handler; nil if it must not post Kubernetes events. Only a handler with side
// effects may post events, and only about an existing object.
func (r *Reviews) recorder(v *review, h *handlers.Handler) *observe.Recorder {
	if !h.Admission.SideEffects || v.request.DryRun || v.subject.Object.UID == "" {
		return nil
	}
	return r.deps.Recorders.For(v.subject.Reference).WithoutSecrets(v.subject.Secrets)
}

// emit emits the review, and keeps it for replays.
func (r *Reviews) emit(v *review, response *admission.Response, began time.Time) {
	var diff object.Diff
	if r.history.prefix != "" && v.mutated != nil {
		diff = object.ComputeDiff(v.tree, v.mutated)
	}
	observe.Emit(r.deps.Sink, observe.ReviewEnded{
		Subject: v.subject, Request: v.request, Response: response, ID: r.history.add(keptReview{request: v.request, limit: v.limit, size: v.size}), Replay: v.replay,
		Diff: diff, Handlers: v.called, Began: began, Took: r.deps.Now().Sub(began),
	})
}

// Replay implements [AdmissionControl]. The review is a dry run.
func (r *Reviews) Replay(id string) error {
	former, kept := r.history.find(id)
	if !kept {
		return fmt.Errorf("the review %q is not kept; only the newest ones of this run are", id)
	}
	request := *former.request
	request.DryRun = true
	ctx, cancel := context.WithTimeoutCause(r.base, former.limit, handlers.ErrTimeout)
	defer cancel()
	_, err := r.review(ctx, &review{request: &request, limit: former.limit, size: former.size, replay: id})
	return err
}
