package watch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// streamedListTries is how many times a streamed list may fail on the server's side
// before an ordinary list is tried: some servers can do only the latter.
const streamedListTries = 3

// Run follows the objects until the context ends. Nothing goes on after it returned.
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
	// The pace of retries is decided here, where all failures are seen.
	options.Client = options.Client.WithoutRetries()
	f := &follower{
		options: options,
		pacing:  &pacing{base: max(0, options.ReconnectBackoff), restarted: options.Restarted},
	}
	defer f.streams.Wait()
	defer f.pacing.stop()

	store := &sink{resource: options.Resource, handle: options.Handle, listed: options.Listed}
	reflector := cache.NewReflectorWithOptions(
		&cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch},
		nil, store, cache.ReflectorOptions{
			Name:            options.Resource.Key(),
			TypeDescription: options.Resource.Key(),
			// It comes into play only for errors within a stream.
			Backoff: &wait.Backoff{Duration: max(options.ReconnectBackoff, time.Millisecond), Factor: 2, Cap: maxBackoff, Steps: 10},
		})
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(quiet{options.Logger.Handler()}))
	for ctx.Err() == nil {
		// All that it returns has been told by then; what it does not return needs a new listing.
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			options.Logger.DebugContext(ctx, "Listing or watching ended", "resource", options.Resource.Key(), "error", err)
		}
	}
}

// follower makes the requests of the reflector.
type follower struct {
	options Options
	pacing  *pacing
	streams sync.WaitGroup
}

// list fetches a listing, or a page of it.
func (f *follower) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	options := kube.FromMeta(o)
	options.KeepManagedFields = f.options.KeepManagedFields
	for {
		if err := f.pacing.wait(ctx); err != nil {
			return nil, err
		}
		list, err := f.options.Client.List(ctx, f.options.Resource, f.options.Namespace, options)
		if err == nil {
			return list, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f.pacing.failed(failReason(err), err)
		if final(err) {
			return nil, err
		}
	}
}

// watch opens a stream. It insists by itself on what heals by itself, so that the
// reflector continues from where it was, rather than from a new listing.
func (f *follower) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	options := kube.FromMeta(o)
	options.KeepManagedFields = f.options.KeepManagedFields
	options.Timeout = f.options.ServerTimeout
	for try := 1; ; try++ {
		if err := f.pacing.wait(ctx); err != nil {
			return nil, err
		}
		source, err := f.options.Client.Watch(ctx, f.options.Resource, f.options.Namespace, options)
		if err == nil {
			s := newStream(source, f.pacing, f.options)
			f.streams.Go(s.run)
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		refused := final(err)
		if options.SendInitialEvents && refused && !expired(err) {
			return nil, err // the reflector tries a list, and that will tell
		}
		f.pacing.failed(failReason(err), err)
		if refused || (options.SendInitialEvents && try >= streamedListTries && kube.Status(err) != 0) {
			return nil, err
		}
	}
}

// final reports if the same request will not succeed later, or would be of no use.
func final(err error) bool {
	switch failReason(err) {
	case Throttled, Unavailable, Unauthorized:
		return false
	}
	return true
}

// quiet lets client-go's words through at the level of debugging only: what matters of
// them is told by restarts.
type quiet struct{ slog.Handler }

// Enabled reports if anybody reads debug messages.
func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle passes a message.
func (q quiet) Handle(ctx context.Context, record slog.Record) error {
	record.Level = slog.LevelDebug
	return q.Handler.Handle(ctx, record)
}

// WithAttrs keeps it quiet.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup keeps it quiet.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
