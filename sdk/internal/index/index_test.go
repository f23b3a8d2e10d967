package index

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

var pods = resources.Scope{Resource: "pods.v1"}

func pod(id string) Object { return Object{Scope: pods, ID: id} }

// content returns the values of an index by key, sorted, and checks that all ways to read it agree.
func content(t *testing.T, x *Index[string, int]) map[string][]int {
	t.Helper()
	all := map[string][]int{}
	for _, key := range x.Keys() {
		if _, twice := all[key]; twice {
			t.Errorf("the key %q comes twice", key)
		}
		all[key] = slices.Sorted(slices.Values(x.Get(key)))
	}
	pairs := map[string][]int{}
	for _, p := range x.Pairs() {
		pairs[p.Key] = append(pairs[p.Key], p.Value)
	}
	values := 0
	for _, v := range pairs {
		slices.Sort(v)
		values += len(v)
	}
	if diff := cmp.Diff(all, pairs); diff != "" {
		t.Errorf("the keys and the pairs differ: %s", diff)
	}
	if size := x.Size(); size != (Size{Keys: len(all), Values: values, Objects: size.Objects}) || x.Len() != len(all) {
		t.Errorf("size %+v of %d keys and %d values", size, len(all), values)
	}
	if entries, total := x.Page(0, values+1, nil); len(entries) != values || total != values {
		t.Errorf("a page of %d of %d values", len(entries), total)
	}
	return all
}

func expect(t *testing.T, x *Index[string, int], want map[string][]int) {
	t.Helper()
	if diff := cmp.Diff(want, content(t, x)); diff != "" {
		t.Error(diff)
	}
}

func TestIndex_ValuesOfSeveralObjectsShareKey(t *testing.T) {
	x := New[string, int]()
	x.Set(pod("a"), map[string]int{"k": 1})
	x.Set(pod("b"), map[string]int{"k": 2, "l": 3})
	x.Set(pod("c"), map[string]int{"k": 1})
	expect(t, x, map[string][]int{"k": {1, 1, 2}, "l": {3}})
}

func TestIndex_SetReplacesValuesOfObject(t *testing.T) {
	x := New[string, int]()
	x.Set(pod("a"), map[string]int{"k": 1, "l": 1})
	x.Set(pod("b"), map[string]int{"k": 2})
	x.Set(pod("a"), map[string]int{"k": 3, "l": 4})
	expect(t, x, map[string][]int{"k": {2, 3}, "l": {4}})
	x.Set(pod("a"), map[string]int{"l": 5, "m": 6})
	expect(t, x, map[string][]int{"k": {2}, "l": {5}, "m": {6}})
}

func TestIndex_NoValuesRemovesKeyAndObject(t *testing.T) {
	x := New[string, int]()
	x.Set(pod("a"), map[string]int{"k": 1})
	x.Set(pod("b"), map[string]int{"l": 2})
	x.Set(pod("a"), map[string]int{})
	x.Discard(pod("b"))
	x.Discard(pod("unknown"))
	expect(t, x, map[string][]int{})
	if len(x.objects) > 0 {
		t.Errorf("objects are remembered: %v", x.objects)
	}
}

func TestIndex_RetainAffectsOneScope(t *testing.T) {
	x := New[string, int]()
	elsewhere := Object{Scope: resources.Scope{Resource: "pods.v1", Namespace: "ns"}, ID: "a"}
	x.Set(elsewhere, map[string]int{"k": 1})
	x.Set(pod("a"), map[string]int{"k": 2})
	x.Set(pod("b"), map[string]int{"k": 3})
	x.Retain(pods, func(id string) bool { return id == "b" })
	expect(t, x, map[string][]int{"k": {1, 3}})
}

func TestIndex_GetReturnsCopy(t *testing.T) {
	x := New[string, int]()
	x.Set(pod("a"), map[string]int{"k": 1})
	got := x.Get("k")
	x.Set(pod("a"), map[string]int{"k": 2})
	got[0]++
	expect(t, x, map[string][]int{"k": {2}})
}

// TestIndex_MatchesModelAfterRandomSteps compares an index with a plain map after random steps.
func TestIndex_MatchesModelAfterRandomSteps(t *testing.T) {
	seeds := uint64(50)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 0))
		x, model := New[string, int](), map[Object]map[string]int{}
		for range 300 {
			o := Object{resources.Scope{Resource: "pods.v1", Namespace: strconv.Itoa(random.IntN(2))}, strconv.Itoa(random.IntN(8))}
			switch random.IntN(6) {
			case 0:
				x.Discard(o)
				delete(model, o)
			case 1:
				kept := strconv.Itoa(random.IntN(8))
				x.Retain(o.Scope, func(id string) bool { return id <= kept })
				maps.DeleteFunc(model, func(other Object, _ map[string]int) bool { return other.Scope == o.Scope && other.ID > kept })
			default:
				values := map[string]int{}
				for range random.IntN(4) {
					values[strconv.Itoa(random.IntN(5))] = random.IntN(3)
				}
				x.Replace(o, values)
				model[o] = values
			}
			want, objects := map[string][]int{}, 0
			for _, values := range model {
				if len(values) > 0 {
					objects++
				}
				for key, value := range values {
					want[key] = append(want[key], value)
				}
			}
			for _, values := range want {
				slices.Sort(values)
			}
			expect(t, x, want)
			if n := x.Size().Objects; n != objects {
				t.Errorf("%d objects of %d", n, objects)
			}
		}
		if t.Failed() {
			t.Fatalf("with the seed %d", seed)
		}
	}
}

func TestIndex_ReadersSeeAllKeysOfObjectOrNone(t *testing.T) {
	x := New[string, int]()
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				sums := map[int]int{}
				for _, p := range x.Pairs() {
					sums[p.Value]++
				}
				for value, n := range sums {
					if n != 3 {
						t.Errorf("%d of 3 keys have the value %d", n, value)
					}
				}
				x.Get("k0")
			}
		})
	}
	for i := range 2000 {
		values := map[string]int{}
		for k := range 3 {
			values[fmt.Sprintf("k%d", (i+k)%7)] = i
		}
		x.Set(pod("a"), values)
	}
	close(done)
	readers.Wait()
}
