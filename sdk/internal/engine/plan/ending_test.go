package plan

import (
	"testing"
	"time"
)

func TestEnding_DecidesHowTheObjectWaits(t *testing.T) {
	hour, minute := []time.Duration{time.Hour}, []time.Duration{time.Minute}
	for _, test := range []struct {
		name  string
		end   Ending
		want  Wait
		delay time.Duration
	}{
		{"nothing is left", Ending{Finished: true}, WaitChange, 0},
		{"nothing was to be done", Ending{}, WaitChange, 0},
		{"the patch has changed the object", Ending{Finished: true, Changed: true, Made: true, Records: true}, WaitChange, 0},
		{"a handler is delayed", Ending{Delays: []time.Duration{time.Hour, time.Minute}}, WaitDelay, time.Minute},
		{"a handler is due", Ending{Delays: []time.Duration{0}}, WaitDelay, 0},
		{"the next version has the delay", Ending{Delays: minute, Changed: true, Made: true, Records: true}, WaitSkipped, time.Minute},
		{"records that the server drops", Ending{Delays: minute, Made: true, Records: true}, WaitLost, 0},
		{"records that are kept elsewhere", Ending{Delays: minute}, WaitDelay, time.Minute},
		{"an unchanged status", Ending{Delays: minute, Made: true}, WaitDelay, time.Minute},
		{"a daemon is stopping", Ending{Stopping: minute}, WaitDaemons, time.Minute},
		{"a daemon is stopping before the delay", Ending{Stopping: minute, Delays: hour}, WaitDaemons, time.Minute},
		{"a daemon is stopping after the delay", Ending{Stopping: hour, Delays: minute}, WaitDelay, time.Minute},
		{"the next version checks the daemon", Ending{Stopping: minute, Changed: true}, WaitChange, 0},
		{"a request names more handlers", Ending{RetryLeft: true, Delays: hour}, WaitNothing, 0},
		{"a request names more handlers, in the next version", Ending{RetryLeft: true, Delays: hour, Changed: true}, WaitSkipped, time.Hour},
		{"failed handlers are called for another cause", Ending{Finished: true, RetryNext: true, Changed: true}, WaitNothing, 0},
		{"failed handlers are called when this cause is done", Ending{RetryNext: true, Delays: hour}, WaitDelay, time.Hour},
		{"an update follows", Ending{Finished: true, Behind: true}, WaitNothing, 0},
		{"an update follows in the next version", Ending{Finished: true, Behind: true, Changed: true}, WaitChange, 0},
		{"a daemon is stopping before the update", Ending{Finished: true, Behind: true, Stopping: minute}, WaitDaemons, time.Minute},
		{"the object is gone", Ending{Gone: true, RetryLeft: true, Delays: hour, Stopping: hour}, WaitChange, 0},
	} {
		if how, delay := test.end.Next(); how != test.want || delay != test.delay {
			t.Errorf("%s: waits as %d for %s, want %d for %s", test.name, how, delay, test.want, test.delay)
		}
	}
}
