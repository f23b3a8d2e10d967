package watch

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// streamedListTries is the number of failures of a streamed list before an ordinary list is requested, because some
// servers do not support streamed lists.
const streamedListTries = 3

// Run lists and watches the objects until the context ends. The functions of the options are not called after Run
// returned.
func Run(ctx context.Context, options Options) {
	if options.InactivityTimeout == 0 {
		options.InactivityTimeout = DefaultInactivityTimeout
	}
	if options.ReconnectBackoff == 0 {
		options.ReconnectBackoff = DefaultReconnectBackoff
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	// Retries of the client would hide failures from the backoff.
	options.Client = options.Client.WithoutRetries()
	l := &listWatcher{
		options: options,
		backoff: &backoff{base: max(0, options.ReconnectBackoff), restarted: options.Restarted},
	}
	defer l.streams.Wait()
	defer l.backoff.stop()

	s := &store{
		resource: options.Resource, keep: options.Keep, comeBack: options.LabelSelector != "", handle: options.Handle, listed: options.Listed, restored: l.restored.Swap,
		stale: func(what string, err error) {
			options.Logger.DebugContext(ctx, "Dropping an outdated version", "what", what, "reason", err)
		},
		staleList: func(err error) { l.backoff.failed(Expired, err) },
	}
	reflector := cache.NewReflectorWithOptions(
		&cache.ListWatch{ListWithContextFunc: l.list, WatchFuncWithContext: l.watch},
		nil, s, cache.ReflectorOptions{
			Name:            options.Resource.Key(),
			TypeDescription: options.Resource.Key(),
			// The reflector only uses this backoff after errors within a stream.
			Backoff: &wait.Backoff{Duration: max(options.ReconnectBackoff, time.Millisecond), Factor: 2, Cap: maxBackoff, Steps: 10},
		})
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(debugHandler{options.Logger.Handler()}))
	for ctx.Err() == nil {
		// The error, if any, is already reported. The next call lists the objects again.
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			options.Logger.DebugContext(ctx, "Listing or watching ended", "resource", options.Resource.Key(), "error", err)
		}
	}
}

// listWatcher makes the requests of the reflector.
type listWatcher struct {
	options Options
	backoff *backoff
	streams sync.WaitGroup

	restored atomic.Bool // since the last list, the server responded that it does not have the newest versions
}

// failed records a failed attempt.
func (l *listWatcher) failed(err error) {
	if kube.IsVersionTooLarge(err) {
		l.restored.Store(true)
	}
	l.backoff.failed(failReason(err), err)
}

// list fetches a list, or a page of it.
func (l *listWatcher) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	options := kube.FromMeta(o)
	l.narrow(&options)
	if options.ResourceVersion == "0" {
		// The reflector accepts a list of any age, but a handler must not repeat an old change. A list of any age has one page.
		options.ResourceVersion, options.Limit = "", 0
	}
	for {
		if err := l.backoff.wait(ctx); err != nil {
			return nil, err
		}
		list, err := l.options.Client.List(ctx, l.options.Resource, l.options.Namespace, options)
		if err == nil && slices.ContainsFunc(list.Items, isNameless) {
			err = fmt.Errorf("list %s: %w: an object has no name", l.options.Resource.Key(), kube.ErrDamaged)
		}
		if err == nil {
			if l.options.Reduce != nil {
				for _, o := range list.Items {
					l.options.Reduce(o)
				}
			}
			return list, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if kube.IsTimeout(err) {
			options.Patience++ // the server may need longer for a list than for other responses
		}
		l.failed(err)
		if isPermanent(err) {
			return nil, err
		}
	}
}

// narrow adds the stream's selectors to a request.
func (l *listWatcher) narrow(options *kube.ListOptions) {
	options.KeepManagedFields, options.MetadataOnly = l.options.KeepManagedFields, l.options.MetadataOnly
	options.LabelSelector, options.Keep = l.options.LabelSelector, l.options.Keep
	if l.options.ShardSelector != nil {
		options.ShardSelector = l.options.ShardSelector()
	}
}

// isNameless reports whether an object has no name, which only happens in damaged responses.
func isNameless(o *object.Object) bool { return o.Name == "" }

// watch opens a stream. It retries by itself after transient failures, so that the reflector
// continues from the last resourceVersion instead of relisting.
func (l *listWatcher) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	options := kube.FromMeta(o)
	l.narrow(&options)
	options.Timeout = l.options.ServerTimeout
	for try := 1; ; try++ {
		if err := l.backoff.wait(ctx); err != nil {
			return nil, err
		}
		source, err := l.options.Client.Watch(ctx, l.options.Resource, l.options.Namespace, options)
		if err == nil {
			s := newStream(source, l.backoff, l.options)
			l.streams.Go(s.run)
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		permanent := isPermanent(err)
		if options.SendInitialEvents && permanent && kube.Classify(err) != kube.Expired {
			return nil, err // the reflector tries a list, whose failure is reported
		}
		l.failed(err)
		if permanent || (options.SendInitialEvents && try >= streamedListTries && kube.Status(err) != 0) {
			return nil, err
		}
	}
}

// isPermanent reports whether repeating the request is pointless: it cannot succeed, or a relist is necessary.
func isPermanent(err error) bool {
	switch failReason(err) {
	case Throttled, Unavailable, Unauthorized:
		return false
	}
	return true
}

// debugHandler logs the messages of client-go at debug level, because [Options].Restarted already reports restarts.
type debugHandler struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (h debugHandler) Enabled(ctx context.Context, _ slog.Level) bool {
	return h.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle implements [slog.Handler].
func (h debugHandler) Handle(ctx context.Context, record slog.Record) error {
	record.Level = slog.LevelDebug
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (h debugHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return debugHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h debugHandler) WithGroup(name string) slog.Handler {
	return debugHandler{h.Handler.WithGroup(name)}
}
