package inspector

import (
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestHub_ReviewsReachReadersOnce(t *testing.T) {
	hub := NewHub(HubOptions{})
	reader := hub.subscribe()
	defer reader.close()
	var replica inspect.Replica
	read := func() {
		for _, m := range reader.pending() {
			replica.Apply(m)
		}
	}
	hub.AddReview(inspect.Review{ID: "0"})
	read()
	for n := 1; n <= 2*inspect.MaxReviews; n++ {
		hub.AddReview(inspect.Review{ID: fmt.Sprint(n)})
		if n%7 == 0 {
			read()
		}
	}
	hub.SetAdmission(inspect.Admission{Way: "https://h"})
	read()
	got := replica.Snapshot()
	if len(got.Reviews) != inspect.MaxReviews || got.Admission == nil || got.Admission.Way != "https://h" {
		t.Fatalf("%d reviews, %+v", len(got.Reviews), got.Admission)
	}
	for i, r := range got.Reviews {
		if want := fmt.Sprint(inspect.MaxReviews + 1 + i); r.ID != want {
			t.Fatalf("review %d is %s, want %s", i, r.ID, want)
		}
	}
	if all := hub.Snapshot(); len(all.Reviews) != inspect.MaxReviews || all.Admission == nil {
		t.Errorf("the snapshot has %d reviews, %+v", len(all.Reviews), all.Admission)
	}
}
