package observe

import (
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func TestBacklog_HandsEventsOverInOrder(t *testing.T) {
	var sink Sink
	backlog := NewBacklog(KindLoginEnded)
	sink.Subscribe(backlog)
	failed := LoginEnded{Err: handlers.ErrTimeout}
	Emit(&sink, failed)
	Emit(&sink, ObjectForgotten{})
	to := &listener{kinds: []Kind{KindLoginEnded, KindObjectForgotten}}
	backlog.HandOver(&sink, to)
	Emit(&sink, ObjectForgotten{})
	backlog.Receive(LoginEnded{}) // that was on its way
	if len(to.told) != 3 || to.told[0] != Event(failed) || to.told[1] != Event(ObjectForgotten{}) || to.told[2] != Event(LoginEnded{}) {
		t.Errorf("%+v", to.told)
	}
}

func TestBacklog_DroppedWithoutASuccessor(t *testing.T) {
	var sink Sink
	backlog := NewBacklog(KindLoginEnded)
	sink.Subscribe(backlog)
	Emit(&sink, LoginEnded{})
	backlog.HandOver(&sink, nil)
	backlog.Receive(LoginEnded{})
	if sink.Wants(KindLoginEnded) || len(backlog.events) != 0 {
		t.Error("it still takes events")
	}
}

func TestBacklog_NothingLostWhileEventsHappen(t *testing.T) {
	var sink Sink
	backlog := NewBacklog(KindLoginEnded)
	sink.Subscribe(backlog)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				Emit(&sink, LoginEnded{})
			}
		})
	}
	to := &listener{kinds: []Kind{KindLoginEnded}}
	backlog.HandOver(&sink, to)
	wg.Wait()
	if len(to.told) != 400 {
		t.Errorf("%d events", len(to.told))
	}
}
