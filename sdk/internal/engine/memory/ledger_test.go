package memory

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func stub(version string) *object.Object {
	return object.Stub("kopf.dev/v1", "KopfExample", "ns", "x", "uid", version)
}

func TestLedger_Takes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later := now.Add(time.Second)
	event := func(version string) queue.Batch {
		newest := watch.Event{Type: watch.Modified, Object: stub(version)}
		return queue.Batch{Newest: newest, Events: []watch.Event{newest}}
	}
	again := func(version string) queue.Batch {
		return queue.Batch{Newest: watch.Event{Type: watch.Modified, Object: stub(version)}, Requeued: true}
	}
	both := func(version string) queue.Batch { b := event(version); b.Requeued = true; return b }
	list := func(version string, complete uint64) queue.Batch {
		newest := watch.Event{Type: watch.Listed, Object: stub(version), Complete: complete}
		return queue.Batch{Newest: newest, Events: []watch.Event{newest}, Listed: true, Complete: complete}
	}
	gone := func(version string) queue.Batch { b := event(version); b.Newest.Type = watch.Deleted; return b }
	empty := func(version string) queue.Batch { b := again(version); b.Bodiless = true; return b }
	for name, test := range map[string]struct {
		taken, made string
		strict      time.Time
		batch       queue.Batch
		due         bool
		want        News
		version     string // version to handle; empty if it must be read
		left        string // taken version afterwards
	}{
		"a first event":                         {"", "", time.Time{}, event("5"), false, NewsNewer, "5", "5"},
		"a newer event":                         {"5", "", time.Time{}, event("6"), false, NewsNewer, "6", "6"},
		"the same event":                        {"5", "", time.Time{}, event("5"), false, NewsNothing, "5", "5"},
		"an older event":                        {"5", "", time.Time{}, event("4"), false, NewsNothing, "4", "5"},
		"the same event and due":                {"5", "", time.Time{}, event("5"), true, NewsSame, "5", "5"},
		"an older event and due":                {"5", "", time.Time{}, event("4"), true, NewsReread, "", "5"},
		"requeued":                              {"5", "", time.Time{}, again("5"), false, NewsSame, "5", "5"},
		"requeued with the same event":          {"5", "", time.Time{}, both("5"), false, NewsSame, "5", "5"},
		"requeued with an older event":          {"5", "", time.Time{}, both("4"), false, NewsReread, "", "5"},
		"requeued with an older version":        {"5", "", time.Time{}, again("4"), false, NewsReread, "", "5"},
		"requeued without content":              {"5", "", time.Time{}, empty("5"), false, NewsReread, "", "5"},
		"made, requeued":                        {"5", "7", time.Time{}, again("5"), false, NewsAnswer, "7", "7"},
		"made, requeued without content":        {"5", "7", time.Time{}, empty("5"), false, NewsAnswer, "7", "7"},
		"made, an older event":                  {"5", "7", time.Time{}, event("6"), false, NewsAnswer, "7", "7"},
		"made, its event":                       {"5", "7", time.Time{}, event("7"), false, NewsNewer, "7", "7"},
		"made, a newer event":                   {"5", "7", time.Time{}, event("8"), false, NewsNewer, "8", "8"},
		"made, gone":                            {"5", "7", time.Time{}, gone("6"), false, NewsSame, "6", "5"},
		"gone":                                  {"5", "", time.Time{}, gone("4"), false, NewsSame, "4", "5"},
		"listed again":                          {"5", "", time.Time{}, list("5", 9), false, NewsSame, "5", "5"},
		"listed before the taken one":           {"5", "", time.Time{}, list("4", 4), false, NewsReread, "", "5"},
		"listed without the taken one":          {"5", "", time.Time{}, list("4", 9), false, NewsNewer, "4", "4"},
		"made, listed before":                   {"5", "7", time.Time{}, list("5", 6), false, NewsAnswer, "7", "7"},
		"made, listed without":                  {"5", "7", time.Time{}, list("5", 7), false, NewsSame, "5", "5"},
		"made, listed by a restored server":     {"5", "7", time.Time{}, list("5", math.MaxUint64), false, NewsReread, "", strconv.FormatUint(math.MaxUint64, 10)},
		"listed by a restored server":           {"5", "", time.Time{}, list("4", math.MaxUint64), false, NewsReread, "", strconv.FormatUint(math.MaxUint64, 10)},
		"opaque: a first event":                 {"", "", time.Time{}, event("a"), false, NewsNewer, "a", "a"},
		"opaque: another event":                 {"a", "", time.Time{}, event("b"), false, NewsNewer, "b", "b"},
		"opaque: the same event":                {"a", "", later, event("a"), false, NewsNothing, "a", "a"},
		"opaque: made, another event":           {"a", "c", later, event("b"), false, NewsAnswer, "c", "c"},
		"opaque: made, its event":               {"a", "c", later, event("c"), false, NewsNewer, "c", "c"},
		"opaque: another event too early":       {"c", "", later, event("b"), false, NewsNothing, "b", "c"},
		"opaque: another event in time":         {"c", "", now, event("b"), false, NewsNewer, "b", "b"},
		"opaque: another event too early, due":  {"c", "", later, event("b"), true, NewsReread, "", "c"},
		"opaque: requeued with another version": {"c", "", now, again("b"), false, NewsReread, "", "c"},
		"opaque: requeued with the same":        {"c", "", later, again("c"), false, NewsSame, "c", "c"},
		"opaque: gone":                          {"c", "", later, gone("b"), false, NewsSame, "b", "c"},
		"opaque: listed too early":              {"c", "", later, list("b", 0), false, NewsReread, "", "c"},
		"opaque: listed in time":                {"c", "", now, list("b", 0), false, NewsNewer, "b", "b"},
	} {
		l := &Ledger{taken: test.taken, strict: test.strict}
		if test.made != "" {
			l.Answer = stub(test.made)
		}
		l.Listed(test.batch.Newest.Object, test.batch.Complete)
		got, what := l.Take(&test.batch, test.due, now)
		version := ""
		if got != nil {
			version = got.ResourceVersion
		}
		if what != test.want || version != test.version || l.taken != test.left || l.Answer != nil {
			t.Errorf("%s: %d with version %q, then %q is taken", name, what, version, l.taken)
		}
	}
}

func TestLedger_EventOfOpaqueVersionEndsStrictness(t *testing.T) {
	now, l := time.Now(), &Ledger{taken: "a"}
	l.Wrote(stub("b"), now.Add(time.Hour))
	for _, version := range []string{"a", "b", "c"} {
		newest := watch.Event{Type: watch.Modified, Object: stub(version)}
		got, what := l.Take(&queue.Batch{Newest: newest, Events: []watch.Event{newest}}, false, now)
		want := map[string]News{"a": NewsAnswer, "b": NewsNothing, "c": NewsNewer}[version]
		if what != want || version == "a" && got.ResourceVersion != "b" {
			t.Errorf("%s: %d with %s", version, what, got)
		}
	}
}

func TestLedger_Writes(t *testing.T) {
	for name, test := range map[string]struct {
		do     func(*Ledger)
		taken  string
		answer bool
	}{
		"made":                                 {func(l *Ledger) { l.Wrote(stub("7"), time.Time{}) }, "5", true},
		"nothing changed":                      {func(l *Ledger) { l.Wrote(stub("5"), time.Time{}) }, "5", false},
		"made, skipped":                        {func(l *Ledger) { l.Wrote(stub("7"), time.Time{}); l.Skip() }, "7", false},
		"nothing to skip":                      {(*Ledger).Skip, "5", false},
		"finalizer released, the object stays": {func(l *Ledger) { l.Wrote(stub("7"), time.Time{}); l.Released(false) }, "6", false},
		"finalizer released, it vanishes":      {func(l *Ledger) { l.Wrote(stub("7"), time.Time{}); l.Released(true) }, "7", false},
		"read":                                 {func(l *Ledger) { l.Wrote(stub("7"), time.Time{}); l.Took(stub("8")) }, "8", false},
	} {
		l := &Ledger{taken: "5"}
		if test.do(l); l.taken != test.taken || (l.Answer != nil) != test.answer {
			t.Errorf("%s: %q is taken, and an answer left: %t", name, l.taken, l.Answer != nil)
		}
	}
}

func TestLedger_KnowsWhichObjectsVanish(t *testing.T) {
	for metadata, want := range map[string]bool{
		`{}`: true,
		`{"finalizers":[],"deletionGracePeriodSeconds":0}`: true,
		`{"finalizers":["others"]}`:                        false,
		`{"deletionGracePeriodSeconds":30}`:                false,
	} {
		obj, err := object.Parse([]byte(`{"metadata":`+metadata+`}`), object.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := Vanishes(obj); got != want {
			t.Errorf("%s: %t", metadata, got)
		}
	}
}

func TestLedger_KnowsWhetherOthersHaveChangedTheObject(t *testing.T) {
	for _, test := range []struct {
		taken, made, version string
		want                 bool
	}{
		{"5", "", "5", true},
		{"5", "", "6", false},
		{"5", "7", "7", true},
		{"5", "7", "5", false},
		{"5", "7", "8", false},
		{"a", "", "a", true},
		{"a", "", "b", false},
		{"", "", "1", false},
	} {
		l := &Ledger{taken: test.taken}
		if test.made != "" {
			l.Answer = stub(test.made)
		}
		if l.knows(test.version) != test.want {
			t.Errorf("%+v", test)
		}
	}
}

func TestLedger_SettledVersionIsNoNews(t *testing.T) {
	strict := time.Unix(2e9, 0)
	for _, test := range []struct {
		ledger  Ledger
		version string
		want    bool
	}{
		{Ledger{taken: "5"}, "5", true},
		{Ledger{taken: "a"}, "a", true},
		{Ledger{taken: "5"}, "4", false},
		{Ledger{taken: "5"}, "6", false},
		{Ledger{taken: "5", Answer: stub("7")}, "5", false},
		{Ledger{taken: "5", Answer: stub("7")}, "7", false},
		{Ledger{taken: "a", strict: strict}, "a", false}, // the event ends the strictness
		{Ledger{}, "", false},
	} {
		before := test.ledger
		if got := test.ledger.settled(test.version); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
		event := watch.Event{Type: watch.Modified, Object: stub(test.version)}
		batch := &queue.Batch{Newest: event, Events: []watch.Event{event}}
		if _, news := test.ledger.Take(batch, false, time.Unix(1e9, 0)); test.want && (news != NewsNothing || test.ledger != before) {
			t.Errorf("%+v: Take returns %d, and changes the ledger to %+v", test, news, test.ledger)
		}
	}
}
