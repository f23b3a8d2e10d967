package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestPage_PagesOfAnySizeCoverAllEntries(t *testing.T) {
	x := New[name, int]()
	var want []Entry
	for i := range 7 {
		key := name{"ns", fmt.Sprint("pod-", i)}
		for j := range i { // none of the first
			x.Set(pod(fmt.Sprint(i, "-", j)), map[name]int{key: i})
			want = append(want, Entry{fmt.Sprintf("{namespace:ns name:pod-%d}", i), fmt.Sprint(i)})
		}
	}
	for limit := 1; limit <= len(want)+1; limit++ {
		got := []Entry{}
		for {
			entries, total := x.Page(len(got), limit, nil)
			if total != len(want) || len(entries) > limit {
				t.Fatalf("%d of %d entries", len(entries), total)
			}
			if len(entries) == 0 {
				break
			}
			got = append(got, entries...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of %d: %s", limit, diff)
		}
	}
	if entries, total := x.Page(0, 0, nil); len(entries) != 0 || total != len(want) {
		t.Errorf("%v of %d", entries, total)
	}
}

func TestPage_SortedByWholeKeyBeforeTruncation(t *testing.T) {
	x, prefix := New[string, int](), strings.Repeat("x", maxText)
	const keys = 100
	for i := range keys {
		x.Set(pod(fmt.Sprint(i)), map[string]int{fmt.Sprintf("%s%03d", prefix, i): i})
	}
	for i := range keys {
		entries, _ := x.Page(i, 1, nil)
		if diff := cmp.Diff([]Entry{{prefix + "…", fmt.Sprint(i)}}, entries); diff != "" {
			t.Fatalf("entry %d: %s", i, diff)
		}
	}
}

// guarded is a value that users change under its own lock.
type guarded struct {
	mu    sync.Mutex
	state map[string]int
}

type panicking struct{}

func (*panicking) MarshalJSON() ([]byte, error) { panic("boom") }

type failing struct{}

func (*failing) MarshalJSON() ([]byte, error) { return nil, errors.New("no JSON") }

func TestPage_TextsOfKeysAndValues(t *testing.T) {
	long := strings.Repeat("ä", maxText)
	for want, v := range map[string]any{
		"pod-1":                      "pod-1",
		"42":                         42,
		"{namespace:ns name:x}":      name{"ns", "x"},
		"{}":                         struct{}{},
		"[a b]":                      []string{"a", "b"},
		"map[a:1]":                   map[string]int{"a": 1},
		"<nil>":                      nil,
		"1m0s":                       time.Minute,
		"boom":                       errors.New("boom"),
		`{"a":1}`:                    json.RawMessage(`{"a":1}`),
		"*index.guarded":             &guarded{},
		"*index.panicking":           &panicking{},
		"no JSON":                    &failing{},
		"\uFFFDx":                    "\xffx",
		long[:maxText] + "…":         long,
		"x" + long[:maxText-2] + "…": "x" + long,
	} {
		got := cut(text(v))
		if got != want || !utf8.ValidString(got) {
			t.Errorf("%T: %q, want %q", v, got, want)
		}
	}
	key, value := New[name, *guarded]().Types()
	if key != "index.name" || value != "*index.guarded" {
		t.Errorf("types %s, %s", key, value)
	}
}

func TestPage_DoesNotDereferencePointers(t *testing.T) {
	x, value := New[string, *guarded](), &guarded{state: map[string]int{}}
	x.Set(pod("a"), map[string]*guarded{"k": value})
	var users sync.WaitGroup
	users.Go(func() {
		for i := range 100 {
			value.mu.Lock()
			value.state[fmt.Sprint(i)] = i
			value.mu.Unlock()
		}
	})
	for range 100 {
		x.Page(0, 1, nil)
	}
	users.Wait()
}

func TestPage_WithinLimitWhileIndexChanges(t *testing.T) {
	x := New[string, int]()
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range 500 {
			x.Set(pod(fmt.Sprint(i%20)), map[string]int{fmt.Sprint(i % 3): i})
			x.Discard(pod(fmt.Sprint((i + 7) % 20)))
		}
	})
	for i := range 200 {
		if entries, _ := x.Page(i%10, 5, nil); len(entries) > 5 {
			t.Errorf("%d entries", len(entries))
		}
	}
	writer.Wait()
}

func TestPage_OnlyMatchingEntries(t *testing.T) {
	x := New[string, int]()
	for i := range 20 {
		x.Set(pod(fmt.Sprint(i)), map[string]int{fmt.Sprintf("key-%d", i%2): i})
	}
	odd := func(e Entry) bool { return e.Key == "key-1" }
	entries, total := x.Page(8, 5, odd)
	if total != 10 || len(entries) != 2 || entries[0].Key != "key-1" {
		t.Errorf("%v of %d", entries, total)
	}
	if entries, total := x.Page(0, 5, func(Entry) bool { return false }); entries == nil || len(entries) != 0 || total != 0 {
		t.Errorf("%v of %d", entries, total)
	}
}
