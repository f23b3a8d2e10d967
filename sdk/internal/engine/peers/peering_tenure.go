package peers

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// tenure is the validity of the operator's record in a peering object: one lifetime, from the time at which the last
// renewal was sent. After its end, other operators may act. The lock guards all fields except the guard.
type tenure struct {
	lock     sync.Locker // lock of the peering object
	guard    fence.Guard // no deadline while there is no record
	pauses   *Pauses
	key      PauseKey
	newTerm  func() // called before the operator acts again
	logger   *slog.Logger
	object   string
	lifetime time.Duration // lifetime of the record, in whole seconds

	lapsed  bool        // the operator does not act until it has read its peers again
	failure error       // error of the last renewal; nil if it succeeded
	alarm   *time.Timer // pauses the operator when the record expires
}

// renew records a renewal that was sent at the given time.
func (t *tenure) renew(sent time.Time) {
	if t.guard.Renew(sent, t.lifetime) {
		t.lapse()
	}
	stopTimer(t.alarm)
	t.alarm = time.AfterFunc(t.lifetime-time.Since(sent), func() {
		t.lock.Lock()
		defer t.lock.Unlock()
		if t.guard.Lapsed() {
			t.lapse()
		}
	})
}

// vacate records that the operator has no record, because the object does not exist.
func (t *tenure) vacate() {
	stopTimer(t.alarm)
	if t.guard.Free() {
		t.lapse()
	}
}

func (t *tenure) lapse() {
	if t.lapsed {
		return
	}
	t.lapsed = true
	t.guard.Drop()
	level := slog.LevelWarn
	if t.pauses.Reason() != "" {
		level = slog.LevelDebug // the operator is already paused
	}
	t.pauses.Add(t.key, inspect.Pause{Reason: "until its record in " + t.object + " is renewed"})
	args := []any{observe.EventKey, observe.LogPeeringLapsed}
	if t.failure != nil {
		args = append(args, "error", t.failure)
	}
	t.logger.Log(context.Background(), level, "The record of this operator in "+t.object+" was not renewed within "+t.lifetime.String()+
		": the API server did not accept it, or this process stood still. Other operators may act: this one begins and writes nothing until it has renewed the record", args...)
}

// resume makes the operator act again. It returns false if the response is too old to show the current peers.
func (t *tenure) resume(sent time.Time) bool {
	var answer fence.Guard
	answer.Renew(sent, t.lifetime)
	if answer.Lapsed() {
		return false
	}
	if !t.lapsed {
		return true
	}
	t.lapsed = false
	t.newTerm()
	t.logger.Info("The record of this operator in "+t.object+" counts again: listing all objects, unless another operator has precedence",
		observe.EventKey, observe.LogPeeringRenewed)
	t.guard.Raise()
	t.pauses.end(t.key)
	return true
}

// leave ends the tenure when the operator leaves the peering.
func (t *tenure) leave() {
	t.vacate()
	t.guard.Raise()
	t.lapsed = false
	t.pauses.Remove(t.key)
}

func stopTimer(timer *time.Timer) {
	if timer != nil {
		timer.Stop()
	}
}
