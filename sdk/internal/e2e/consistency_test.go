package e2e

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// lag is how late the operator hears of changes in these tests.
const lag = 150 * time.Millisecond

func TestHandlersNeverRunTwiceWhenTheWatchIsLate(t *testing.T) {
	w, c := newWorld(t), &calls{}
	op := w.run(func(r *kopf.Registry) {
		for _, id := range []string{"create_1", "create_2", "create_3"} {
			kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
				c.add(id)
				// Others change the object in the meantime: older versions than those that
				// the operator is about to write are on their way.
				w.patch("x", tree{"metadata": tree{"annotations": tree{"others": id}}})
				return nil
			}, kopf.ID(id))
		}
		kopf.OnUpdate(r, kexes, c.does("updated"), kopf.ID("updated"), kopf.Field("spec.field"))
		kopf.OnDelete(r, kexes, c.does("deleted"), kopf.ID("deleted"))
	}, setup{wrap: delayedWatch(lag)})
	w.create(example("x"))
	w.patch("x", tree{"metadata": tree{"annotations": tree{"others": "early"}}})
	w.untilHandled("x")
	w.patch("x", tree{"spec": tree{"field": "one"}})
	w.patch("x", tree{"metadata": tree{"annotations": tree{"others": "late"}}})
	w.untilHandled("x")
	op.journal.wait(t, "Updating is processed: 1 succeeded", 1)
	w.delete("x")
	w.untilGone("x")
	op.journal.wait(t, "really deleted", 1)
	c.are(t, "create_1", "create_2", "create_3", "updated", "deleted")
}

func TestThePatienceWithOwnWritesIsLimited(t *testing.T) {
	w, c := newWorld(t), &calls{}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
			c.add("create_1")
			if c.count("create_1") == 1 {
				w.patch("x", tree{"metadata": tree{"annotations": tree{"others": "early"}}})
			}
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	}, setup{
		wrap:     heldBack(func(line string) bool { return strings.Contains(line, `\"purpose\":`) }),
		settings: func(s *kopf.Settings) { s.Persistence.ConsistencyTimeout = 50 * time.Millisecond },
	})
	w.create(example("x"))
	op.journal.wait(t, "it was not seen within 50ms", 1)
	op.journal.wait(t, "Handler 'create_1' is invoked", 2)
}

// heldBack loses some of the lines of watches.
func heldBack(which func(line string) bool) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err == nil && isWatch(req) {
				resp.Body = mapLines(resp.Body, func(line string) (string, error) {
					if which(line) {
						return "", nil
					}
					return line, nil
				})
			}
			return resp, err
		})
	}
}

func TestDeletionHandlersAreNotRepeatedWhenTheFinalizerIsContended(t *testing.T) {
	w, c := newWorld(t), &calls{}
	var contended atomic.Int32
	contend := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPatch && strings.Contains(req.Header.Get("Content-Type"), "json-patch") && contended.Add(1) == 2 {
				// Between the purge of the records and the removal of the finalizer.
				w.patch("x", tree{"metadata": tree{"annotations": tree{"others": "meanwhile"}}})
			}
			return next.RoundTrip(req)
		})
	}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnDelete(r, kexes, c.does("delete_1"), kopf.ID("delete_1"))
		kopf.OnDelete(r, kexes, c.does("delete_2"), kopf.ID("delete_2"))
	}, setup{wrap: contend})
	w.create(example("x"))
	w.until("x", "has the finalizer", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") != nil })
	w.delete("x")
	w.untilGone("x")
	op.journal.wait(t, "Patching was postponed", 1)
	op.journal.wait(t, "really deleted", 1)
	c.are(t, "delete_1", "delete_2")
}

func TestHandlersAreNotRepeatedWhenOnlyHalfOfTheWritesSucceed(t *testing.T) {
	w, c := newWorld(t), &calls{}
	var failures atomic.Int32
	failing := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/status") && failures.Add(1) == 1 {
				return nil, errors.New("the network is down")
			}
			return next.RoundTrip(req)
		})
	}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("create_1")
			r.Result = "lost"
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	}, setup{
		// The events arrive later than the next attempt is made.
		wrap: func(next http.RoundTripper) http.RoundTripper { return failing(delayedWatch(lag)(next)) },
		settings: func(s *kopf.Settings) {
			s.Networking.ErrorBackoffs = slices.Values([]time.Duration(nil))
			s.Queueing.ErrorDelays = slices.Values([]time.Duration{time.Millisecond})
		},
	})
	w.create(example("x"))
	w.untilHandled("x")
	op.journal.wait(t, "Handling has failed: it is throttled for 1ms.", 1)
	op.journal.wait(t, "Throttling is over: back to normal.", 1)
	c.are(t, "create_1", "create_2")
}

// mapLines changes the lines of a body, or drops them if nothing is left of them.
func mapLines(body io.ReadCloser, change func(string) (string, error)) io.ReadCloser {
	pr, pw := io.Pipe()
	go func() { pw.CloseWithError(copyLines(pw, body, change)) }()
	return struct {
		io.Reader
		io.Closer
	}{pr, closers{pr, body}}
}

type closers []io.Closer

// Close closes all.
func (c closers) Close() error {
	var errs []error
	for _, one := range c {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

func TestObjectsOfTheSameNameAreNotTakenForEachOther(t *testing.T) {
	w, c := newWorld(t), &calls{}
	started, proceed := make(chan struct{}), make(chan struct{})
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			field := kopf.GetOr(r.Body, "spec.field", "")
			c.add(field)
			if field == "value" {
				close(started)
				<-proceed
			}
			return nil
		}, kopf.ID("created"))
	})
	w.create(example("x"))
	<-started
	w.delete("x")
	second := example("x")
	second["spec"].(tree)["field"] = "second"
	w.create(second)
	c.wait(t, "second", 1) // after the end of the first, which was told before
	close(proceed)
	op.journal.wait(t, "Patching was skipped: the object does not exist anymore.", 1)
	if o := w.untilHandled("x"); o.Get("spec.field") != "second" {
		t.Error("it is another object")
	}
}
