package reviews

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
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
	id      string // id for replays; empty if the review is not kept
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
	if r.deps.NewMemo == nil {
		return nil
	}
	return r.deps.NewMemo()
}

func (r *Reviews) call(ctx context.Context, v *review, h *handlers.Handler, cause *handlers.Cause) {
	changes := patch.NewPatch()
	if h.Family == handlers.Mutate {
		changes.Append(v.patch) // a copy, so that changes before a failure are dropped
	}
	var recorder *observe.Recorder // nil unless the handler has side effects, and the object exists
	if h.Admission.SideEffects && !v.request.DryRun && v.subject.Object.UID != "" {
		recorder = r.deps.Recorders.For(v.subject.Reference).WithoutSecrets(v.subject.Secrets)
	}
	a := &call.Attempt{
		Subject: v.subject,
		Call: &handlers.Call{
			Cause: cause, Handler: h, Patch: changes, Memo: cause.Views.Memo, Recorder: recorder,
			Logger: v.subject.Logger.With(observe.HandlerKey, h.ID), Warn: v.warn,
		},
		Grace: time.Millisecond, // the API server waits
		Then: func(ctx context.Context) error {
			if ctx.Err() != nil { // the handler may have left its work undone, whatever it returns
				return fmt.Errorf("%s: its context has ended: %w", h, context.Cause(ctx))
			}
			if h.Family == handlers.Validate && !changes.Empty() {
				return handlers.AsPermanent(fmt.Errorf("%s: it only validates, and cannot change the object; register it with OnMutate", h))
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

// failed records the error of a handler, or of the review if it is nil. The error denies the request, unless it is ignored.
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

// emit emits the review, and keeps it for replays.
func (r *Reviews) emit(v *review, response *admission.Response, began time.Time) {
	var diff object.Diff
	if r.history.prefix != "" && v.mutated != nil {
		diff = object.ComputeDiff(v.tree, v.mutated)
	}
	id := r.history.add(&review{request: v.request, limit: v.limit, size: v.size})
	observe.Emit(r.deps.Sink, observe.ReviewEnded{
		Subject: v.subject, Request: v.request, Response: response, ID: id, Replay: v.replay,
		Diff: diff, Handlers: v.called, Began: began, Took: r.deps.Now().Sub(began),
	})
}

// Replay implements [AdmissionControl]. The review is a dry run.
func (r *Reviews) Replay(id string) error {
	former := r.history.find(id)
	if former == nil {
		return fmt.Errorf("the review %q is not kept; only the newest ones of this run are", id)
	}
	request := *former.request
	request.DryRun = true
	ctx, cancel := context.WithTimeoutCause(r.base, former.limit, handlers.ErrTimeout)
	defer cancel()
	_, err := r.review(ctx, &review{request: &request, limit: former.limit, size: former.size, replay: id})
	return err
}

// maxReviewBytes limits the total size of all kept reviews.
const maxReviewBytes = 16 << 20

// reviewHistory keeps the newest reviews for replays. It is safe for concurrent use.
type reviewHistory struct {
	prefix string // distinguishes this run of the operator from other runs; empty if no reviews are kept

	mu    sync.Mutex
	last  uint64
	kept  []*review // oldest first
	bytes int
}

// add keeps a review, which must have only the input for a replay, and returns its id.
func (h *reviewHistory) add(v *review) (id string) {
	if h.prefix == "" {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	id = h.prefix + strconv.FormatUint(h.last, 10)
	if v.size > maxReviewBytes/4 {
		return id // a huge review would displace all others
	}
	v.id = id
	h.kept = append(h.kept, v)
	h.bytes += v.size
	for len(h.kept) > inspect.MaxReviews || h.bytes > maxReviewBytes {
		h.bytes -= h.kept[0].size
		h.kept[0] = nil
		h.kept = h.kept[1:]
	}
	return id
}

// find returns a kept review; nil if it is not kept.
func (h *reviewHistory) find(id string) *review {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.kept, func(v *review) bool { return v.id == id }); i >= 0 {
		return h.kept[i]
	}
	return nil
}

const (
	maxDecoded      = 64 << 20  // limits the memory of the decoded objects of all concurrent large reviews, in bytes
	maxSmallDecoded = 32 << 20  // limits the same for small reviews; a review that exceeds its limit runs alone
	smallReview     = 1 << 20   // maximum weight of a small review
	maxTrees        = 256 << 20 // limits the memory of the decoded objects of one review
	treesOfPatch    = 3         // number of copies of an object that a change needs
	collectedReview = 32 << 20  // weight from which the garbage collector runs after a review, before the next one is decoded
)

// claim waits until there is memory for the decoded objects of a review. The returned function ends the review, and
// drops the decoded objects, so that a kept review only needs memory for its JSON.
func (r *Reviews) claim(ctx context.Context, request *admission.Request) (end func(), err error) {
	b := r.large
	if request.Weight <= smallReview {
		b = r.small
	}
	if !b.Take(ctx, request.Weight) {
		return nil, &admission.InvalidError{
			Status: http.StatusServiceUnavailable, Reason: "reviews of large objects have taken too long; try again with a smaller object",
		}
	}
	return func() {
		dropped := false
		for _, obj := range []*object.Object{request.Object, request.Old} {
			dropped = obj != nil && obj.DropTree() || dropped
		}
		if dropped && request.Weight >= collectedReview {
			runtime.GC()
		}
		b.Give(request.Weight)
	}, nil
}

// checkWeight returns a denial if the given number of copies of a review's decoded objects needs too much memory.
// Objects of up to 1.5 MiB of JSON, the default limit of Kubernetes, always pass.
func checkWeight(request *admission.Request, attempted string, copies int64) error {
	weight := request.Weight * copies
	if weight <= maxTrees {
		return nil
	}
	return handlers.AsDenial(fmt.Errorf("cannot %s the object: its values take about %d MiB of memory, and the limit is %d MiB; make it smaller",
		attempted, weight>>20, int64(maxTrees>>20)), http.StatusRequestEntityTooLarge)
}
