package faults

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const group = "faults.kopf.dev"

// kind is one of the kinds of objects in trials.
type kind struct {
	name, plural string
	status       bool // is a subresource, so that the operator needs two requests
}

var kinds = []kind{{"Subject", "subjects", true}, {"PlainSubject", "plainsubjects", false}}

func (k kind) selector() kopf.Selector { return kopf.Resource(group+"/v1", k.plural) }

func (k kind) definition() string {
	subresources := "{}"
	if k.status {
		subresources = "{status: {}}"
	}
	return fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[1]s.%[2]s}, spec: {
	group: %[2]s, scope: Namespaced, names: {plural: %[1]s, kind: %[3]s}, versions: [{name: v1, served: true, storage: true,
	subresources: %[4]s, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`,
		k.plural, group, k.name, subresources)
}

// subject is an object as handlers get it.
type subject struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Value string `json:"value"`
	} `json:"spec"`
	Status status `json:"status"`
}

// handlerIDs are the change handlers: two for each cause, so that there is a time between them.
var handlerIDs = []string{"create_1", "create_2", "update_1", "update_2", "delete_1", "delete_2"}

// call is one call of a change handler.
type call struct {
	id       string // unique ID; empty unless the call was successful
	handler  string
	reason   kopf.Reason
	uid      string
	old, new string // spec.value
	version  uint64 // version of the object in the call
	life     int    // number of the operator's life
	at       time.Time
}

// String returns the call in a few words.
func (c call) String() string {
	return fmt.Sprintf("%s (%s: %q to %q at version %d, in life %d, at %s)",
		c.id, c.handler, c.old, c.new, c.version, c.life, c.at.Format("05.000"))
}

// ledger has the actions of handlers and daemons, in all lives of the operator.
type ledger struct {
	mu      sync.Mutex
	life    int
	tries   []call // all calls of change handlers, including failed ones
	calls   []call // successful calls
	steps   []stepCall
	daemons map[string]map[int]int // number of running daemons, by UID and life
	doubled []string
	samples []sample
	starts  []uint64          // the version of the cluster when a life began, by its number
	begun   []time.Time       // the times at which the lives began
	version func() uint64     // returns the current version of the cluster
	lists   map[string][]span // times of the operators' lists of a kind

	withSteps bool // the first creation handler and the first update handler have two steps, and one that must happen at most once
	onces     onces
}

// sample is the process's use of resources between two lives.
type sample struct {
	Goroutines int
	Heap       uint64 // bytes
}

// register begins a life.
func (l *ledger) register(r *kopf.Registry) {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	start := l.version()
	l.mu.Lock()
	l.starts = append(l.starts, start)
	l.begun = append(l.begun, time.Now())
	l.samples = append(l.samples, sample{runtime.NumGoroutine(), memory.HeapAlloc})
	l.life++
	life := l.life
	l.mu.Unlock()
	for _, k := range kinds {
		for _, n := range []string{"1", "2"} {
			kopf.OnCreate(r, k.selector(), l.handler("create_"+n, life), kopf.ID("create_"+n))
			kopf.OnUpdate(r, k.selector(), l.handler("update_"+n, life), kopf.ID("update_"+n))
			kopf.OnDelete(r, k.selector(), l.handler("delete_"+n, life), kopf.ID("delete_"+n))
		}
		kopf.Daemon(r, k.selector(), l.daemon(life), kopf.ID("daemon"))
	}
}

// handler returns a handler that fails at first for some objects, and has effects in all three ways.
func (l *ledger) handler(id string, life int) func(context.Context, *kopf.Change[subject]) error {
	return func(ctx context.Context, c *kopf.Change[subject]) error {
		l.mu.Lock()
		l.tries = append(l.tries, callOf(id, life, c))
		l.mu.Unlock()
		if strings.HasSuffix(id, "_1") {
			if err := l.step(ctx, id, "make", life, c); err != nil {
				return err
			}
		}
		if c.Retry == 0 && chance(id, c.Object.Spec.Value) < 64 {
			return kopf.Temporaryf(10*time.Millisecond, "not yet")
		}
		time.Sleep(time.Duration(chance("work", c.Object.Spec.Value)) * 20 * time.Microsecond) // the work of the handler
		if strings.HasSuffix(id, "_1") {
			if err := l.step(ctx, id, "grant", life, c); err != nil {
				return err
			}
			if err := l.once(ctx, id, life, c); err != nil {
				return err
			}
		}
		number := l.succeeded(id, life, c)
		switch id {
		case "create_1":
			c.Patch.Set("status.created", number)
		case "create_2":
			c.Result = number
		case "update_1":
			kopf.Transform(c.Patch, func(s *subject) { s.Status.Applied = append(s.Status.Applied, number) })
		case "update_2":
			c.Patch.Set("status.merged", number)
		}
		return nil
	}
}

// chance returns a number from 0 to 255 that depends on the texts alone.
func chance(texts ...string) int {
	hash := fnv.New32a()
	fmt.Fprint(hash, texts)
	return int(hash.Sum32()>>8) % 256
}

// callOf describes a call.
func callOf(handler string, life int, c *kopf.Change[subject]) call {
	one := call{handler: handler, reason: c.Reason, uid: string(c.UID), new: c.Object.Spec.Value, life: life, at: time.Now()}
	if c.Old != nil {
		one.old = c.Old.Spec.Value
	}
	_, _ = fmt.Sscan(c.Object.ResourceVersion, &one.version) // the history checks that versions are numbers
	return one
}

func (l *ledger) succeeded(handler string, life int, c *kopf.Change[subject]) (number string) {
	one := callOf(handler, life, c)
	l.mu.Lock()
	defer l.mu.Unlock()
	one.id = fmt.Sprint("call-", len(l.calls)+1)
	l.calls = append(l.calls, one)
	return one.id
}

// daemon returns a daemon that only runs.
func (l *ledger) daemon(life int) func(context.Context, *kopf.DaemonRun[subject]) error {
	return func(ctx context.Context, d *kopf.DaemonRun[subject]) error {
		uid := string(d.UID)
		l.mu.Lock()
		if l.daemons == nil {
			l.daemons = map[string]map[int]int{}
		}
		if l.daemons[uid] == nil {
			l.daemons[uid] = map[int]int{}
		}
		if l.daemons[uid][life]++; l.daemons[uid][life] > 1 {
			l.doubled = append(l.doubled, fmt.Sprintf("%s runs %d times in life %d", d.Name, l.daemons[uid][life], life))
		}
		l.mu.Unlock()
		select {
		case <-d.Stopping():
		case <-ctx.Done():
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.daemons[uid][life]--
		return nil
	}
}

// running returns how many daemons an object has in the present life.
func (l *ledger) running(uid string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.daemons[uid][l.life]
}

// of returns the calls so far by UID, in their order: the successful ones, and all.
func (l *ledger) of() (calls, tries map[string][]call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return byObject(l.calls), byObject(l.tries)
}

func byObject(calls []call) map[string][]call {
	all := map[string][]call{}
	for _, c := range calls {
		all[c.uid] = append(all[c.uid], c)
	}
	return all
}

// lives returns the number of the last life, the daemons that ran twice, and the version of the cluster
// at the start of each life.
func (l *ledger) lives() (last int, doubled []string, starts []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life, slices.Clone(l.doubled), append([]uint64{0}, l.starts...)
}

// span is the time from the start of a list until the operator has queued all of its objects. Without an end, it has not ended.
type span struct{ began, ended time.Time }

// Write notes the lists in a line of the operator's log.
func (l *ledger) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	begins, ends := strings.Contains(string(line), "Listing and watching"), strings.Contains(string(line), "Caches populated")
	for _, k := range kinds {
		if !begins && !ends || !strings.Contains(string(line), fmt.Sprintf("type=%s.v1.%s", k.plural, group)) {
			continue
		}
		lists := l.lists[k.name]
		if n := len(lists) - 1; n >= 0 && lists[n].ended.IsZero() {
			lists[n].ended = time.Now()
		}
		if begins {
			lists = append(lists, span{began: time.Now()})
		}
		if l.lists == nil {
			l.lists = map[string][]span{}
		}
		l.lists[k.name] = lists
	}
	return len(line), nil
}

// listsOf returns the times of the operators' lists of a kind.
func (l *ledger) listsOf(kind string) []span {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lists[kind])
}

// median returns the middle one of some values.
func median[T cmp.Ordered](values []T) T {
	var zero T
	if len(values) == 0 {
		return zero
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
