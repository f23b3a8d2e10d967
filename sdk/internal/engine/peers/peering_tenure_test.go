package peers

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// holder is an operator with a record that is valid for a minute.
type holder struct {
	*tenure
	d     *core.Deps
	log   bytes.Buffer
	terms int
	seen  int64 // number of pauses that the discovery has seen
}

func newHolder() *holder {
	d := &core.Deps{State: &core.RunState{}, Sink: &observe.Sink{}, Now: time.Now}
	h := &holder{d: d}
	h.tenure = &tenure{
		lock: new(sync.Mutex), pauses: NewPauses(d, core.NewWakeup()), key: PauseKey{Kind: inspect.PausePeering, name: "record"}, newTerm: func() { h.terms++ },
		logger: slog.New(slog.NewTextHandler(&h.log, nil)), object: "KopfPeering default", lifetime: time.Minute,
	}
	d.State.Records.Store(&[]*fence.Guard{&h.guard})
	return h
}

func (h *holder) locked(do func()) {
	h.lock.Lock()
	defer h.lock.Unlock()
	do()
}

// renewed applies the response to a keep-alive that was sent at the given time.
func (h *holder) renewed(sent time.Time) {
	h.locked(func() { h.renew(sent) })
}

// looked decides by the response to a request that was sent at the given time.
func (h *holder) looked(sent time.Time) (fresh bool) {
	h.locked(func() { fresh = h.resume(sent) })
	return fresh
}

// work returns the context for work on an object that starts now.
func (h *holder) work(t *testing.T) context.Context {
	return h.d.EnterTerm(t.Context(), nil, nil)
}

func (h *holder) warnings() int { return strings.Count(h.log.String(), "level=WARN") }

// discover stops the streams as the discovery does.
func (h *holder) discover() (stopped bool) {
	if n := h.d.State.Pauses.Load(); n != h.seen || h.d.State.Paused.Load() {
		h.seen = n
		h.pauses.WhileStopped(func() { stopped = true })
	}
	return stopped
}

func TestTenure_ExpiredRecordClosesFenceUntilPeersAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHolder()
		h.failure = errors.New("no answer")
		h.renewed(time.Now())
		before := h.work(t)
		time.Sleep(40 * time.Second)
		h.renewed(time.Now())
		time.Sleep(time.Minute - 1)
		if err := fence.MayBegin(before); err != nil || !h.looked(time.Now()) || h.terms > 0 {
			t.Errorf("its record counts, and: %v, %d terms", err, h.terms)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if err := fence.MayWrite(before); !errors.Is(err, fence.ErrLapsed) || !h.d.State.Paused.Load() || h.warnings() != 1 ||
			!strings.Contains(h.log.String(), `error="no answer"`) {
			t.Errorf("expired: writing answers %v\n%s", err, &h.log)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		h.renewed(time.Now())
		if err := fence.MayWrite(h.work(t)); !errors.Is(err, fence.ErrLapsed) {
			t.Errorf("renewed, without knowing the peers: writing answers %v", err)
		}
		if !h.looked(time.Now()) || h.terms != 1 || h.warnings() != 1 {
			t.Errorf("%d terms\n%s", h.terms, &h.log)
		}
		if err := fence.MayBegin(h.work(t)); !errors.Is(err, fence.ErrDraining) {
			t.Errorf("before the streams and daemons from before are stopped: beginning answers %v", err)
		}
		if !h.discover() || h.d.State.Paused.Load() {
			t.Error("the streams and daemons from before run on, or the pause does not end")
		}
		if err := fence.MayBegin(h.work(t)); err != nil {
			t.Errorf("all is listed again: %v", err)
		}
		if err := fence.MayWrite(before); !errors.Is(err, fence.ErrLapsed) {
			t.Errorf("what began before the record expired writes: %v", err)
		}
	})
}

func TestTenure_AnswerFromBeforeFreezeProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHolder()
		h.renewed(time.Now())
		time.Sleep(40 * time.Second)
		sent := time.Now()
		time.Sleep(time.Minute) // the process is suspended, and the response waits in the socket
		h.renewed(sent)
		if h.looked(sent) {
			t.Error("the answer counts")
		}
		synctest.Wait()
		if err := fence.MayWrite(h.work(t)); !errors.Is(err, fence.ErrLapsed) || h.warnings() != 1 {
			t.Errorf("writing answers %v\n%s", err, &h.log)
		}
		h.renewed(time.Now())
		if !h.looked(time.Now()) || !h.discover() {
			t.Error("it does not act again")
		}
		if err := fence.MayBegin(h.work(t)); err != nil {
			t.Error(err)
		}
	})
}

func TestTenure_LapseAgainBeforeDiscoveryKeepsPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHolder()
		h.renewed(time.Now())
		time.Sleep(time.Minute)
		synctest.Wait()
		h.renewed(time.Now())
		h.looked(time.Now())
		h.pauses.WhileStopped(func() {
			time.Sleep(time.Minute)
			synctest.Wait()
		})
		if !h.d.State.Paused.Load() {
			t.Error("it acts, though its record has expired again")
		}
	})
}

func TestTenure_NoRecordHasNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHolder()
		time.Sleep(time.Hour)
		if err := fence.MayBegin(h.work(t)); err != nil {
			t.Errorf("a record that was never written: %v", err)
		}
		h.renewed(time.Now())
		ctx := h.work(t)
		h.locked(h.vacate) // the peering object was deleted
		time.Sleep(time.Hour)
		synctest.Wait()
		if err := fence.MayBegin(ctx); err != nil || h.d.State.Paused.Load() {
			t.Errorf("there is no peering: %v", err)
		}
		h.renewed(time.Now())
		time.Sleep(time.Minute)
		synctest.Wait()
		h.locked(h.vacate) // deleted while other operators may act
		if err := fence.MayBegin(h.work(t)); !errors.Is(err, fence.ErrLapsed) {
			t.Errorf("it was deleted after the record had expired, and may exist again: %v", err)
		}
		h.looked(time.Now())
		h.discover()
		if err := fence.MayBegin(h.work(t)); err != nil || h.warnings() != 1 {
			t.Errorf("%v\n%s", err, &h.log)
		}
	})
}

func TestTenure_LeavingEndsPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHolder()
		h.renewed(time.Now())
		time.Sleep(time.Minute)
		synctest.Wait()
		h.locked(h.leave)
		if err := fence.MayBegin(h.work(t)); err != nil || h.d.State.Paused.Load() {
			t.Errorf("its namespace is not served anymore: %v", err)
		}
	})
}
