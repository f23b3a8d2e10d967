package budget

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m, os.Exit) }

func TestBudget_RequestsWaitInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(10)
		if !b.Take(t.Context(), 6) {
			t.Fatal("there is enough")
		}
		order := make(chan string, 2)
		take := func(name string, size int64) {
			go func() {
				if b.Take(t.Context(), size) {
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
		b.Give(6)
		synctest.Wait()
		if len(order) != 2 {
			t.Fatalf("%d are served", len(order))
		}
		b.Give(8)
		b.Give(1)
		if b.free != 10 || len(b.waiting) != 0 {
			t.Errorf("%+v", b)
		}
	})
}

func TestBudget_WhoGivesUpLetsOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(4)
		served := make(chan bool, 2)
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b.Take(t.Context(), 1)
		go func() { served <- b.Take(impatient, 4) }()
		synctest.Wait()
		go func() { served <- b.Take(t.Context(), 3) }()
		synctest.Wait()
		if len(served) != 0 {
			t.Fatal("nobody can be served yet")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if one, other := <-served, <-served; one == other {
			t.Errorf("%t and %t", one, other)
		}
		if b.free != 0 {
			t.Errorf("%d are free", b.free)
		}
	})
}

func TestBudget_ClaimBeyondBudgetRunsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(10)
		b.Take(t.Context(), 1)
		granted := false
		go func() { granted = b.Take(t.Context(), 100) }()
		synctest.Wait()
		if granted || b.TakeNow(1) {
			t.Fatalf("%t, %+v", granted, b)
		}
		b.Give(1)
		synctest.Wait()
		if !granted || b.TakeNow(1) {
			t.Fatalf("%t, %+v", granted, b)
		}
		b.Give(100)
		if !b.TakeNow(10) {
			t.Errorf("%+v", b)
		}
	})
}
