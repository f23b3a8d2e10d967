package webhook

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBudget_RequestsWaitInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{free: 10}
		if !b.take(t.Context(), 6) {
			t.Fatal("there is enough")
		}
		order := make(chan string, 2)
		take := func(name string, size int64) {
			go func() {
				if b.take(t.Context(), size) {
					order <- name
				}
			}()
			synctest.Wait()
		}
		take("large", 8)
		take("small", 1) // it would fit, but came later
		if len(order) != 0 {
			t.Errorf("%s does not wait", <-order)
		}
		b.give(6)
		synctest.Wait()
		if len(order) != 2 {
			t.Fatalf("%d are served", len(order))
		}
		b.give(8)
		b.give(1)
		if b.free != 10 || len(b.waiting) != 0 {
			t.Errorf("%+v", b)
		}
	})
}

func TestBudget_WhoGivesUpLetsOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{free: 4}
		served := make(chan bool, 2)
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { served <- b.take(impatient, 5) }()
		synctest.Wait()
		go func() { served <- b.take(t.Context(), 3) }()
		synctest.Wait()
		if len(served) != 0 {
			t.Fatal("nobody can be served yet")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if one, other := <-served, <-served; one == other {
			t.Errorf("%t and %t", one, other)
		}
		if b.free != 1 {
			t.Errorf("%d are free", b.free)
		}
	})
}

func TestServer_LargeReviewsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := &running{server: &Server{MaxBytes: 10}, timeout: time.Second}
		handler := r.handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
		codes := make(chan int, budgetFactor+1)
		post := func(body io.Reader) {
			go func() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", body))
				codes <- w.Code
			}()
			synctest.Wait()
		}
		for n := range budgetFactor {
			body := io.Reader(strings.NewReader(strings.Repeat("x", 10)))
			if n == 0 {
				body = io.MultiReader(body) // of an unknown length
			}
			post(body)
		}
		post(strings.NewReader("x"))
		time.Sleep(time.Second)
		synctest.Wait()
		if len(codes) != 1 || <-codes != http.StatusServiceUnavailable {
			t.Fatal("the last one does not wait for the others")
		}
		close(release)
		for range budgetFactor {
			if code := <-codes; code != http.StatusOK {
				t.Errorf("one of the others: %d", code)
			}
		}
	})
}
