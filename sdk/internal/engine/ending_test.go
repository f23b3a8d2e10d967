package engine

import (
	"testing"
	"time"
)

func TestEnding_DecidesHowTheObjectWaits(t *testing.T) {
	hour, minute := []time.Duration{time.Hour}, []time.Duration{time.Minute}
	for _, test := range []struct {
		name  string
		end   ending
		want  wait
		delay time.Duration
	}{
		{"nothing is left", ending{finished: true}, waitChange, 0},
		{"nothing was to be done", ending{}, waitChange, 0},
		{"the patch has changed the object", ending{finished: true, changed: true, made: true, records: true}, waitChange, 0},
		{"a handler is delayed", ending{delays: []time.Duration{time.Hour, time.Minute}}, waitDelay, time.Minute},
		{"a handler is due", ending{delays: []time.Duration{0}}, waitDelay, 0},
		{"the next version has the delay", ending{delays: minute, changed: true, made: true, records: true}, waitSkipped, time.Minute},
		{"records that the server drops", ending{delays: minute, made: true, records: true}, waitLost, 0},
		{"records that are kept elsewhere", ending{delays: minute}, waitDelay, time.Minute},
		{"an unchanged status", ending{delays: minute, made: true}, waitDelay, time.Minute},
		{"a daemon is stopping", ending{stopping: minute}, waitDaemons, time.Minute},
		{"a daemon is stopping before the delay", ending{stopping: minute, delays: hour}, waitDaemons, time.Minute},
		{"a daemon is stopping after the delay", ending{stopping: hour, delays: minute}, waitDelay, time.Minute},
		{"the next version checks the daemon", ending{stopping: minute, changed: true}, waitChange, 0},
		{"a request names more handlers", ending{retryLeft: true, delays: hour}, waitNothing, 0},
		{"a request names more handlers, in the next version", ending{retryLeft: true, delays: hour, changed: true}, waitSkipped, time.Hour},
		{"failed handlers are called for another cause", ending{finished: true, retryNext: true, changed: true}, waitNothing, 0},
		{"failed handlers are called when this cause is done", ending{retryNext: true, delays: hour}, waitDelay, time.Hour},
		{"an update follows", ending{finished: true, behind: true}, waitNothing, 0},
		{"an update follows in the next version", ending{finished: true, behind: true, changed: true}, waitChange, 0},
		{"a daemon is stopping before the update", ending{finished: true, behind: true, stopping: minute}, waitDaemons, time.Minute},
		{"the object is gone", ending{gone: true, retryLeft: true, delays: hour, stopping: hour}, waitChange, 0},
	} {
		if how, delay := test.end.next(); how != test.want || delay != test.delay {
			t.Errorf("%s: waits as %d for %s, want %d for %s", test.name, how, delay, test.want, test.delay)
		}
	}
}
