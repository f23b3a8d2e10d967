package slots

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m, os.Exit) }

// calls makes calls as the engine does: who gets no slot is not called, and tries again when it is woken.
type calls struct {
	table Table
	limit *handlers.CallLimit

	mu            sync.Mutex
	running, most int
	begun         []string
	at            []time.Time
}

// turn returns a turn whose object makes a call of a duration as soon as it is woken.
func (c *calls) turn(name string, urgent bool, took time.Duration) (try func()) {
	var turn *Turn
	try = func() {
		if !turn.Reserve(urgent) {
			return
		}
		turn.Begin()
		c.mu.Lock()
		c.running++
		c.most = max(c.most, c.running)
		c.begun, c.at = append(c.begun, name), append(c.at, time.Now())
		c.mu.Unlock()
		go func() {
			time.Sleep(took)
			c.mu.Lock()
			c.running--
			c.mu.Unlock()
			turn.End()
		}()
	}
	turn = c.table.NewTurn(c.limit, func() { go try() })
	return try
}

func TestTurns_AreNeverMoreThanTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, objects := &calls{limit: &handlers.CallLimit{Running: 2}}, 5000
		if testing.Short() {
			objects = 1000
		}
		for i := range objects {
			go c.turn(fmt.Sprint(i), false, time.Duration(5+rand.IntN(10))*time.Millisecond)()
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		if c.most != 2 || len(c.begun) != objects || c.running != 0 {
			t.Errorf("at most %d at the same time, %d calls, %d still running", c.most, len(c.begun), c.running)
		}
	})
}

func TestTurns_AreInOrderWithDeletionsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{limit: &handlers.CallLimit{Running: 1}}
		for _, name := range []string{"a", "b", "c", "d"} {
			c.turn(name, false, time.Second)()
		}
		c.turn("deletion", true, time.Second)()
		time.Sleep(2500 * time.Millisecond)
		c.turn("late", false, time.Second)()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := strings.Join(c.begun, " "); got != "a deletion b c d late" {
			t.Error(got)
		}
	})
}

func TestTurn_ChangesLinesWhenItsObjectIsDeleted(t *testing.T) {
	var table Table
	limit := &handlers.CallLimit{Running: 1}
	woken := ""
	turn := func(name string) *Turn { return table.NewTurn(limit, func() { woken += name }) }
	holder, first, second := turn("h"), turn("1"), turn("2")
	if !holder.Reserve(false) || first.Reserve(false) || second.Reserve(false) || second.Reserve(true) {
		t.Fatal("the slot was reserved twice")
	}
	holder.Begin()
	holder.End()
	if woken != "2" {
		t.Errorf("woken: %q", woken)
	}
	if first.Reserve(false) || holder.Reserve(false) || !second.Reserve(true) {
		t.Error("the slot was not kept for the second turn")
	}
}

func TestRate_SpreadsTheBeginsEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{limit: &handlers.CallLimit{Running: 50, Rate: 10, Per: time.Second}}
		began := time.Now()
		for i := range 100 {
			c.turn(fmt.Sprint(i), false, 100*time.Millisecond)()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if took := c.at[len(c.at)-1].Sub(began) + 100*time.Millisecond; len(c.at) != 100 || took < 9500*time.Millisecond || took > 10500*time.Millisecond {
			t.Errorf("%d calls in %s", len(c.at), took)
		}
		for i := 10; i < len(c.at); i++ {
			if c.at[i].Sub(c.at[i-10]) < time.Second {
				t.Errorf("the calls %d to %d began within %s", i-10, i, c.at[i].Sub(c.at[i-10]))
			}
		}
		c.turn("later", false, 0)()
		c.turn("next", false, 0)()
		synctest.Wait()
		c.mu.Lock()
		if len(c.at) != 101 {
			t.Errorf("%d calls: unused time gives no more than one call at once", len(c.at))
		}
		c.mu.Unlock()
		time.Sleep(time.Second)
	})
}

func TestRate_SlotWithoutCallCostsNothing(t *testing.T) {
	var table Table
	limit := &handlers.CallLimit{Running: 1, Rate: 1, Per: time.Hour}
	first, second := table.NewTurn(limit, func() {}), table.NewTurn(limit, func() {})
	if !first.Reserve(false) || second.Reserve(false) {
		t.Fatal("want one slot")
	}
	second.Leave()
	first.Leave()
	if !second.Reserve(false) {
		t.Error("the slot that was given up is not free")
	}
}

func TestTurn_LeavesTheLine(t *testing.T) {
	var table Table
	limit := &handlers.CallLimit{Running: 1}
	woken := ""
	turn := func(name string) *Turn { return table.NewTurn(limit, func() { woken += name }) }
	holder, gone, next := turn("h"), turn("g"), turn("n")
	if !holder.Reserve(false) || gone.Reserve(false) || next.Reserve(false) {
		t.Fatal("want one slot")
	}
	holder.Begin()
	holder.Leave() // does not end a call
	if gone.Leave(); woken != "" {
		t.Errorf("woken: %q", woken)
	}
	if holder.End(); woken != "n" {
		t.Errorf("woken: %q", woken)
	}
	if next.Leave(); !gone.Reserve(false) {
		t.Error("a reserved slot was lost")
	}
}

func TestTurns_CycleGivesUpUnusedSlots(t *testing.T) {
	var table Table
	limit := &handlers.CallLimit{Running: 1}
	var object, other Turns
	h := &handlers.Handler{ID: "h", CallLimit: limit}
	woken := 0
	of := func(ts *Turns) *Turn {
		return ts.Of(h, func() *Turn { return table.NewTurn(limit, func() { woken++ }) })
	}

	object.BeginCycle()
	other.BeginCycle()
	if !of(&other).Reserve(false) || of(&object).Reserve(false) {
		t.Fatal("want one slot")
	}
	other.EndCycle() // has not begun its call: the object gets the slot in the middle of its cycle
	if object.EndCycle(); woken != 1 || !of(&object).Reserve(false) {
		t.Errorf("woken %d times; the slot must stay for the next cycle", woken)
	}
	object.BeginCycle()
	object.EndCycle() // the next cycle had no use for it
	if !of(&other).Reserve(false) {
		t.Error("an unused slot was kept")
	}
	if other.Leave(); !of(&object).Reserve(false) || of(&other).Begin() {
		t.Error("a forgotten object has kept its slot")
	}
	if !of(&object).Begin() || object.EndCycle() || !other.EndCycle() {
		t.Error("want only the object with a running call to be remembered")
	}
}
