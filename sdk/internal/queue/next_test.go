package queue

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestNext_DoneUnlessEventArrivesFirst(t *testing.T) {
	var log journal
	bubble(t, Options{Process: func(_ context.Context, b *Batch) *Next {
		if b.Requeued {
			log.add("next " + b.Newest.Object.ResourceVersion)
			return nil
		}
		log.add("batch " + b.Newest.Object.ResourceVersion)
		return &Next{After: time.Minute}
	}}, func(t *testing.T, q *Queue) {
		q.Put("pods", event("", "a", "1"))
		time.Sleep(time.Second)
		if got := q.Stats(); got != (Stats{Waiting: 1}) {
			t.Errorf("%+v", got)
		}
		q.Put("pods", event("MODIFIED", "a", "2"))
		time.Sleep(time.Hour)
		log.check(t, "batch 1", "batch 2", "next 2")
		if q.remembered() != 0 || q.Stats() != (Stats{}) {
			t.Errorf("%+v", q.Stats())
		}
	})
}

func TestNext_ProcessesNewestVersionAgain(t *testing.T) {
	var log journal
	bubble(t, Options{
		KeepEvents: func(string) bool { return true },
		Process: func(_ context.Context, b *Batch) *Next {
			log.add(fmt.Sprint(b.Newest.Object.ResourceVersion, versions(b)))
			if len(b.Events) > 0 {
				return &Next{After: time.Minute}
			}
			return nil
		},
	}, func(t *testing.T, q *Queue) {
		q.Put("pods", event("", "a", "1"))
		time.Sleep(time.Second)
		q.Put("pods", event("MODIFIED", "a", "2"))
		time.Sleep(time.Hour)
		log.check(t, "1[1]", "2[2]", "2[]")
		if q.remembered() != 0 {
			t.Error("remembered for nothing")
		}
	})
}

func TestAgain_NeverReplacesNewerVersion(t *testing.T) {
	for name, state := range map[string]struct {
		arrange func(q *Queue)
		want    []string
	}{
		"unknown": {func(*Queue) {}, []string{"old"}},
		"waiting for another try": {func(q *Queue) {
			q.Put("pods", event("MODIFIED", "a", "new"))
			time.Sleep(2 * time.Second)
		}, []string{"new", "new"}},
		"in work": {func(q *Queue) {
			q.Put("pods", event("MODIFIED", "a", "new"))
			synctest.Wait()
		}, []string{"new", "new"}},
		"in work with newer events": {func(q *Queue) {
			q.Put("pods", event("MODIFIED", "a", "new"))
			synctest.Wait()
			q.Put("pods", event("MODIFIED", "a", "newest"))
		}, []string{"new", "newest"}},
		"ready": {func(q *Queue) {
			q.Put("pods", event("MODIFIED", "b", "other"))
			synctest.Wait()
			q.Put("pods", event("MODIFIED", "a", "new"))
		}, []string{"other", "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			var log journal
			first := true
			bubble(t, Options{WorkerLimit: 1, Process: func(_ context.Context, b *Batch) *Next {
				log.add(b.Newest.Object.ResourceVersion)
				time.Sleep(time.Second)
				if first && name == "waiting for another try" {
					first = false
					return &Next{After: time.Hour}
				}
				return nil
			}}, func(t *testing.T, q *Queue) {
				state.arrange(q)
				q.Again(Live, "pods", event("MODIFIED", "a", "old"))
				time.Sleep(time.Minute)
				log.check(t, state.want...)
			})
		})
	}
}

func TestAgain_EndsDelayOfNext(t *testing.T) {
	var log journal
	bubble(t, Options{Process: func(_ context.Context, b *Batch) *Next {
		log.add("batch " + b.Newest.Object.ResourceVersion)
		if len(b.Events) == 0 {
			return nil
		}
		return &Next{After: time.Hour}
	}}, func(t *testing.T, q *Queue) {
		q.Put("pods", event("", "a", "1"))
		time.Sleep(time.Minute)
		q.Again(Live, "pods", event("MODIFIED", "a", "2"))
		time.Sleep(2 * time.Hour)
		log.check(t, "batch 1", "batch 1")
	})
}

func TestBatch_EndedWhileProcessed(t *testing.T) {
	var log journal
	bubble(t, Options{Process: func(_ context.Context, b *Batch) *Next {
		log.add(fmt.Sprint(b.Newest.Type, b.Ended()))
		time.Sleep(time.Second)
		log.add(fmt.Sprint(b.Newest.Type, b.Ended()))
		time.Sleep(time.Second)
		log.add(fmt.Sprint(b.Newest.Type, b.Ended()))
		return nil
	}}, func(t *testing.T, q *Queue) {
		q.Put("pods", event("ADDED", "a", "1"))
		synctest.Wait()
		q.Put("pods", event("MODIFIED", "a", "2"))
		time.Sleep(time.Second + time.Millisecond)
		q.Put("pods", event("DELETED", "a", "3"))
		time.Sleep(time.Hour)
		log.check(t, "ADDEDfalse", "ADDEDfalse", "ADDEDtrue", "DELETEDfalse", "DELETEDfalse", "DELETEDfalse")
	})
}

func TestNext_AtOnceGoesToTheEndOfTheList(t *testing.T) {
	var log journal
	bubble(t, Options{WorkerLimit: 1, Process: func(_ context.Context, b *Batch) *Next {
		log.add(fmt.Sprint(b.Key.Object, versions(b), b.Requeued))
		time.Sleep(time.Second)
		if b.Requeued {
			return nil
		}
		return &Next{}
	}}, func(t *testing.T, q *Queue) {
		q.Put("pods", event("ADDED", "a", "1"))
		synctest.Wait()
		q.Put("pods", event("ADDED", "b", "1"))
		q.Put("pods", event("MODIFIED", "a", "2"))
		time.Sleep(time.Minute)
		log.check(t, "a[1] false", "b[1] false", "a[2] true", "b[] true")
		if n := q.remembered(); n != 0 {
			t.Errorf("%d objects are remembered", n)
		}
	})
}

func TestNext_ProcessorReplacesTheVersion(t *testing.T) {
	var log journal
	bubble(t, Options{Process: func(_ context.Context, b *Batch) *Next {
		log.add(b.Newest.Object.ResourceVersion)
		if b.Requeued {
			return nil
		}
		b.Newest = event("MODIFIED", "a", "2")
		return &Next{After: time.Second}
	}}, func(t *testing.T, q *Queue) {
		q.Put("pods", event("ADDED", "a", "1"))
		time.Sleep(time.Minute)
		log.check(t, "1", "2")
	})
}

func TestNext_LongDelayKeepsNoContent(t *testing.T) {
	for delay, bodiless := range map[time.Duration]bool{keepFor: false, time.Hour: true} {
		var log journal
		bubble(t, Options{Process: func(_ context.Context, b *Batch) *Next {
			log.add(fmt.Sprint(b.Key == KeyOf("pods", b.Newest.Object), b.Newest.Object.ResourceVersion, b.Bodiless))
			if b.Requeued {
				return nil
			}
			return &Next{After: delay}
		}}, func(t *testing.T, q *Queue) {
			q.Put("pods", event("ADDED", "a", "1"))
			time.Sleep(2 * time.Hour)
			log.check(t, fmt.Sprint(true, "1", false), fmt.Sprint(true, "1", bodiless))
		})
	}
}
