package inspector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func object(n int, version string) inspect.Object {
	return inspect.Object{
		Ref:             inspect.Ref{Resource: "things.v1.kopf.dev", Namespace: "default", Name: fmt.Sprintf("thing-%d", n), UID: fmt.Sprintf("uid-%d", n)},
		Kind:            "Thing",
		ResourceVersion: version,
		State:           inspect.StateSettled,
	}
}

// next returns the reader's next batch.
func next(t *testing.T, s *subscription) []inspect.Message {
	t.Helper()
	messages, err := s.next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

func subscribe(t *testing.T, h *Hub) *subscription {
	t.Helper()
	s := h.subscribe()
	t.Cleanup(s.close)
	return s
}

func TestHub_SnapshotThenChanges(t *testing.T) {
	h := NewHub(HubOptions{})
	h.UpdateOperator(func(o *inspect.Operator) { o.Identity = "me" })
	h.PutObject(object(1, "1"))
	h.Log(inspect.LogLine{Level: "info", Message: "hello"})
	s := subscribe(t, h)

	first := next(t, s)
	if len(first) != 1 || first[0].Snapshot == nil {
		t.Fatalf("the first batch is %+v", first)
	}
	snapshot := first[0].Snapshot
	if snapshot.Version != inspect.Version || snapshot.Operator.Identity != "me" || len(snapshot.Objects) != 1 || len(snapshot.Log) != 1 {
		t.Errorf("the snapshot is %+v", snapshot)
	}

	h.PutObject(object(2, "2"))
	second := next(t, s)
	if len(second) != 1 || len(second[0].Objects) != 1 || second[0].Objects[0].Name != "thing-2" {
		t.Errorf("the second batch is %+v", second)
	}
	if second[0].Revision <= first[0].Revision {
		t.Errorf("revision %d does not follow %d", second[0].Revision, first[0].Revision)
	}
}

func TestHub_SendsOnlyLastStateOfObject(t *testing.T) {
	h := NewHub(HubOptions{})
	s := subscribe(t, h)
	next(t, s)
	for n := range 1000 {
		h.PutObject(object(1, fmt.Sprint(n)))
	}
	messages := next(t, s)
	if len(messages) != 1 || len(messages[0].Objects) != 1 || messages[0].Objects[0].ResourceVersion != "999" {
		t.Errorf("got %+v", messages)
	}
	if again := s.pending(); again != nil {
		t.Errorf("and then %+v", again)
	}
}

func TestHub_SendsReferenceOfDeletedObject(t *testing.T) {
	h := NewHub(HubOptions{})
	h.PutObject(object(1, "1"))
	s := subscribe(t, h)
	next(t, s)
	h.DropObject(object(1, "").Ref)
	h.DropObject(object(7, "").Ref) // never seen
	messages := next(t, s)
	if want := []inspect.Message{{Revision: messages[0].Revision, Gone: []inspect.Ref{object(1, "").Ref}}}; !cmp.Equal(want, messages) {
		t.Error(cmp.Diff(want, messages))
	}
}

func TestHub_LaggingReaderGetsNewSnapshot(t *testing.T) {
	h := NewHub(HubOptions{})
	s := subscribe(t, h)
	next(t, s)
	for n := range 20 * minTombstones {
		h.PutObject(object(n, "1"))
		h.DropObject(object(n, "1").Ref)
	}
	h.PutObject(object(-1, "1"))
	if len(h.objects) > minTombstones+1 {
		t.Errorf("the hub remembers %d objects, and one lives", len(h.objects))
	}
	messages := next(t, s)
	if messages[0].Snapshot == nil || len(messages[0].Snapshot.Objects) != 1 {
		t.Errorf("got %+v", messages[0])
	}
}

func TestHub_CountsLostLogLines(t *testing.T) {
	h := NewHub(HubOptions{LogLines: 10})
	s := subscribe(t, h)
	next(t, s)
	for n := range 25 {
		h.Log(inspect.LogLine{Level: "info", Message: fmt.Sprint(n)})
	}
	m := next(t, s)[0]
	if m.Dropped != 15 || len(m.Log) != 10 || m.Log[0].Message != "15" || m.Log[9].Message != "24" {
		t.Errorf("got %+v", m)
	}
}

func TestHub_SplitsManyObjectsIntoMessages(t *testing.T) {
	h := NewHub(HubOptions{})
	s := subscribe(t, h)
	next(t, s)
	for n := range 2*maxObjectsPerMessage + 1 {
		h.PutObject(object(n, "1"))
	}
	messages := next(t, s)
	if len(messages) != 3 {
		t.Fatalf("%d messages", len(messages))
	}
	for i, m := range messages {
		if m.Revision != messages[0].Revision || m.More != (i < 2) {
			t.Errorf("message %d: revision %d, more %t", i, m.Revision, m.More)
		}
	}
}

func TestHub_SendsOperatorAfterObjects(t *testing.T) {
	h := NewHub(HubOptions{})
	s := subscribe(t, h)
	next(t, s)
	h.UpdateOperator(func(o *inspect.Operator) { o.Settled = true })
	h.PutObject(object(1, "1"))
	messages := next(t, s)
	if len(messages) != 2 || messages[1].Operator == nil {
		t.Errorf("got %+v", messages)
	}
}

func TestHub_KeepsIntervalBetweenBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(HubOptions{})
		s := h.subscribe()
		defer s.close()
		next(t, s)
		started, batches := time.Now(), 0
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		var writer sync.WaitGroup
		defer writer.Wait()
		writer.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				h.PutObject(object(n%7, fmt.Sprint(n)))
				time.Sleep(time.Millisecond)
			}
		})
		for {
			if _, err := s.next(ctx); err != nil {
				break
			}
			batches++
		}
		if took := time.Since(started); took != 2*time.Second || batches < 38 || batches > 40 {
			t.Errorf("%d batches in %s", batches, took)
		}
	})
}

func TestHub_FirstChangeAfterQuietTimeIsSentAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(HubOptions{})
		s := h.subscribe()
		defer s.close()
		next(t, s)
		time.Sleep(time.Second)
		h.PutObject(object(1, "1"))
		before := time.Now()
		next(t, s)
		if took := time.Since(before); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}

func TestHub_SendsNothingAfterBye(t *testing.T) {
	h := NewHub(HubOptions{})
	s := subscribe(t, h)
	next(t, s)
	h.PutObject(object(1, "1"))
	h.Bye("signal")
	h.Bye("again")
	messages := next(t, s)
	if len(messages) != 2 || len(messages[0].Objects) != 1 || messages[1].Bye == nil || *messages[1].Bye != "signal" {
		t.Errorf("got %+v", messages)
	}
	if _, err := s.next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("then %v", err)
	}
}

func TestHub_LogLevelIntent(t *testing.T) {
	h := NewHub(HubOptions{})
	if h.LogEnabled("debug") || !h.LogEnabled("info") {
		t.Error("at first, the level is not info")
	}
	if reply := h.Do(inspect.Intent{Kind: inspect.IntentLogLevel, Value: "debug"}); !reply.OK {
		t.Error(reply.Error)
	}
	h.Log(inspect.LogLine{Level: "debug", Message: "detail"})
	if lines := h.Snapshot().Log; len(lines) != 1 {
		t.Errorf("the log has %v", lines)
	}
	if reply := h.Do(inspect.Intent{Kind: inspect.IntentLogLevel, Value: "loud"}); reply.OK || !strings.Contains(reply.Error, "loud") {
		t.Errorf("the answer is %+v", reply)
	}
}

func TestHub_NilDoesNothing(t *testing.T) {
	var h *Hub
	h.UpdateOperator(func(*inspect.Operator) { t.Error("it asks for the operator") })
	h.SetHandlers([]inspect.Handler{{}})
	h.HandlerRan(0, Run{})
	h.SetServed(inspect.Served{})
	h.PutIndex(inspect.Index{})
	h.PutObject(object(1, "1"))
	h.DropObject(inspect.Ref{})
	h.Log(inspect.LogLine{})
	h.Bye("")
	if h.LogEnabled("error") {
		t.Error("it wants log lines")
	}
}

func TestHub_StatsWithQuantiles(t *testing.T) {
	h := NewHub(HubOptions{})
	h.SetHandlers([]inspect.Handler{{ID: "a"}, {ID: "b"}})
	for n := range 200 {
		h.HandlerRan(1, Run{Took: time.Duration(n+1) * time.Millisecond})
	}
	at := time.Unix(100, 0)
	h.HandlerRan(0, Run{Took: time.Second, Outcome: RunRetried, Error: "once", At: at.Add(-1)})
	h.HandlerRan(0, Run{Took: time.Minute, Outcome: RunFailed, Error: "permanently", At: at})
	h.HandlerRan(2, Run{}) // no such handler: a stale run after the handlers were replaced
	handlers := h.Snapshot().Handlers
	if want := (inspect.Stats{Runs: 2, Retried: 1, Failed: 1, P50: inspect.Duration(time.Second), P99: inspect.Duration(time.Minute), LastError: "permanently", LastAt: at}); handlers[0].Stats != want {
		t.Error(cmp.Diff(want, handlers[0].Stats))
	}
	// The newest 128 are 73…200 ms; the 64th and the 127th of them are taken.
	if want := (inspect.Stats{Runs: 200, Succeeded: 200, P50: inspect.Duration(136 * time.Millisecond), P99: inspect.Duration(199 * time.Millisecond)}); handlers[1].Stats != want {
		t.Error(cmp.Diff(want, handlers[1].Stats))
	}
}

// sorted returns a snapshot with sorted objects, for comparisons.
func sorted(s *inspect.Snapshot) *inspect.Snapshot {
	c := *s
	c.Objects = slices.Clone(s.Objects)
	slices.SortFunc(c.Objects, func(a, b *inspect.Object) int { return strings.Compare(a.UID, b.UID) })
	return &c
}

func TestReplica_EqualsHub(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	h := NewHub(HubOptions{LogLines: 50, Interval: time.Nanosecond})
	s := subscribe(t, h)
	var replica inspect.Replica
	var given []*inspect.Snapshot // with deep copies, to check that nothing modifies the snapshots
	var copies []*inspect.Snapshot
	steps := 5000
	if testing.Short() {
		steps = 500
	}
	for n := range steps {
		switch id := random.IntN(60); random.IntN(7) {
		case 0, 1:
			h.PutObject(object(id, fmt.Sprint(n)))
		case 2:
			h.DropObject(object(id, "").Ref)
		case 3:
			h.Log(inspect.LogLine{Level: "info", Message: fmt.Sprint(n)})
		case 4:
			h.UpdateOperator(func(o *inspect.Operator) { o.PID = n })
		case 5:
			h.SetHandlers([]inspect.Handler{{ID: fmt.Sprint(n)}})
			h.SetServed(inspect.Served{Resources: []inspect.Resource{{Key: fmt.Sprint(n)}}})
		case 6:
			h.PutIndex(inspect.Index{ID: fmt.Sprint(id % 5), Keys: n})
		}
		if random.IntN(20) != 0 {
			continue
		}
		for _, m := range s.pending() {
			replica.Apply(m)
		}
		got, want := replica.Snapshot(), h.Snapshot()
		got.Log = got.Log[max(0, len(got.Log)-len(want.Log)):] // it reaches further back
		if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
			t.Fatalf("after %d changes: %s", n, diff)
		}
		c := *got
		c.Objects, c.Log, c.Indices = make([]*inspect.Object, len(got.Objects)), slices.Clone(got.Log), slices.Clone(got.Indices)
		for i, o := range got.Objects {
			object := *o
			c.Objects[i] = &object
		}
		given, copies = append(given, got), append(copies, &c)
	}
	if diff := cmp.Diff(copies, given); diff != "" {
		t.Errorf("snapshots have changed after they were given away: %s", diff)
	}
}
