package runner

import "testing"

func TestStore_ReturnedStatesDoNotChange(t *testing.T) {
	s := newStore()
	s.say("info", "one")
	given := s.get()
	if s.get() != given {
		t.Error("the same state was copied again")
	}
	for range 3 * maxLog {
		s.say("info", "more")
	}
	if len(given.Log) != 1 || given.Log[0].Message != "one" {
		t.Errorf("its log is %v", given.Log)
	}
	last := s.get()
	if len(last.Log) > 2*maxLog || last.LogDropped+len(last.Log) != 3*maxLog+1 || last.Revision <= given.Revision {
		t.Errorf("%d lines, %d dropped", len(last.Log), last.LogDropped)
	}
}
