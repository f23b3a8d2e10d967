package observe

import (
	"log/slog"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

var silent = slog.New(slog.DiscardHandler)

// listener records the events that it receives.
type listener struct {
	kinds []Kind

	mu   sync.Mutex
	told []Event
}

func (l *listener) Kinds() []Kind { return l.kinds }

func (l *listener) Receive(event Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, event)
}

func TestSink_PassesOnWhatIsWanted(t *testing.T) {
	var sink Sink
	logins := &listener{kinds: []Kind{KindLoginEnded}}
	both := &listener{kinds: []Kind{KindLoginEnded, KindRequestEnded}}
	sink.Subscribe(logins)
	if sink.Wants(KindRequestEnded) || !sink.Wants(KindLoginEnded) {
		t.Error("it wants something else")
	}
	sink.Subscribe(both)
	Emit(&sink, RequestEnded{kube.Call{Verb: "get"}})
	Emit(&sink, LoginEnded{})
	Emit(&sink, ObjectForgotten{})
	if len(logins.told) != 1 || len(both.told) != 2 || both.told[0].(RequestEnded).Call.Verb != "get" {
		t.Errorf("%v, %v", logins.told, both.told)
	}
}

func TestSink_NilHasNoSubscribers(t *testing.T) {
	var none *Sink
	Emit(none, LoginEnded{})
	if none.Wants(KindLoginEnded) {
		t.Error("there are no subscribers")
	}
}

func TestSink_UnwantedEventsAllocateNothing(t *testing.T) {
	var sink Sink
	sink.Subscribe(&listener{kinds: []Kind{KindLoginEnded}})
	subject, h := podSubject("a", "1"), &handlers.Handler{}
	if n := testing.AllocsPerRun(100, func() {
		Emit(&sink, Planned{Subject: subject, Background: nil})
		Emit(&sink, AttemptEnded{Subject: subject, Handler: h})
		Emit((*Sink)(nil), AttemptEnded{Subject: subject, Handler: h})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSink_ConcurrentUse(*testing.T) {
	var sink Sink
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				Emit(&sink, LoginEnded{})
			}
		})
		wg.Go(func() {
			for range 10 {
				backlog := NewBacklog(KindLoginEnded)
				sink.Subscribe(backlog)
				backlog.HandOver(&sink, nil)
			}
		})
	}
	wg.Wait()
}

func BenchmarkSink_Unwanted(b *testing.B) {
	var sink Sink
	sink.Subscribe(&listener{kinds: []Kind{KindLoginEnded}})
	subject, h := podSubject("a", "1"), &handlers.Handler{}
	b.ReportAllocs()
	for b.Loop() {
		Emit(&sink, AttemptEnded{Subject: subject, Handler: h})
	}
}
