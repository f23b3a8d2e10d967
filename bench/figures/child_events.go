package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

const (
	familyCount = 100 // parents with four children each
	repeats     = 30  // changes of each family for the CPU time of an event and of an unchanged child
)

// strangers is the number of objects of an owned kind that the operator has not made.
var strangers = 5000

// begun is the beginning of a line that the operator prints when a pass begins; at its end, it prints the name of the parent.
const begun = "begun-"

// families are parents with children, and the operator that keeps them.
type families struct {
	*load
	operator *process
	passes   atomic.Pointer[phase]
}

// phase has the passes during a part of the measurement.
type phase struct {
	*clock
	ended *completion
}

func (f *families) begin() *phase {
	p := &phase{newClock(), newCompletion()}
	f.passes.Store(p)
	return p
}

func (f *families) line(line string) {
	p := f.passes.Load()
	p.handlerLine(line)
	if !strings.HasPrefix(line, begun) {
		p.ended.handlerLine(line)
	}
}

// pass changes all parents, and waits until each has had a pass.
func (f *families) pass(ctx context.Context, patch string) error {
	ended := f.begin().ended.expect(familyCount)
	if err := f.patchAll(ctx, func(i int) string { return objects(f.namespace, numbered(i)) }, patch); err != nil {
		return err
	}
	return f.operator.within(ctx, waitLimit, "the passes", ended)
}

func (f *families) patchAll(ctx context.Context, path func(int) string, patch string) error {
	return parallel(familyCount, 16, func(i int) error {
		_, err := f.client.do(ctx, http.MethodPatch, path(i), mergePatch, []byte(patch))
		return err
	})
}

// policy returns the path of a NetworkPolicy among the children.
func (f *families) policy(i int) string {
	return bareChildren[3].path(f.namespace, numbered(i))
}

// used returns the CPU time of the operator while a function runs, and the requests for children.
func (f *families) used(ctx context.Context, do func() error) (cpu time.Duration, requests map[string]int, err error) {
	before, err := f.client.requests(ctx, childKinds)
	if err != nil {
		return 0, nil, err
	}
	began, err := cpuOf(f.operator.pid())
	if err != nil {
		return 0, nil, err
	}
	if err := do(); err != nil {
		return 0, nil, err
	}
	ended, err := cpuOf(f.operator.pid())
	if err != nil {
		return 0, nil, err
	}
	requests, err = f.client.requests(ctx, childKinds)
	for verb := range requests {
		requests[verb] -= before[verb]
	}
	return ended - began, requests, err
}

// measureChildEvents measures what events of children and changes of their parents cost.
func measureChildEvents(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	ld, err := l.newLoad(ctx, c, client, "events")
	if err != nil {
		return nil, err
	}
	f := &families{load: ld}
	created := f.begin().ended
	if f.operator, err = ld.operate(ctx, program{env: []string{"KOPF_BENCH_CHILDREN=begin"}, line: f.line}); err != nil {
		return nil, err
	}
	ended := created.expect(familyCount)
	if err := client.createMany(ctx, ld.namespace, 0, familyCount, nil); err != nil {
		return nil, err
	}
	if err := f.operator.within(ctx, waitLimit, "creating children", ended); err != nil {
		return nil, err
	}
	var rows []row
	for _, measure := range []func(context.Context) ([]row, error){f.changed, f.unchanged, f.drifted, f.irrelevant, f.strange, f.deleted} {
		more, err := measure(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	_, err = f.operator.stop()
	return rows, err
}

// changed changes two of the four children of each parent.
func (f *families) changed(ctx context.Context) ([]row, error) {
	_, requests, err := f.used(ctx, func() error { return f.pass(ctx, `{"spec":{"field":"other"}}`) })
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("requests for one changed child: applies", 1, float64(requests["APPLY"])/familyCount/2, "%.2f", ""),
		atMost("… reads of metadata", 1, float64(requests["GET"])/familyCount/2, "%.2f", ""),
	}, nil
}

// unchanged changes a field of the parents on which no child depends.
func (f *families) unchanged(ctx context.Context) ([]row, error) {
	cpu, requests, err := f.used(ctx, func() error {
		for round := range repeats {
			if err := f.pass(ctx, note(`{"spec":{"duration":"%ds"}}`, round)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("a pass without a change: CPU for each of the four children", 40, cpu.Seconds()*1e6/familyCount/repeats/4, "%.0f µs", "with the event of the parent and all else that a cycle does"),
		atMost("… applies", 0, float64(requests["APPLY"]), "%.0f", ""),
	}, nil
}

// drifted changes an applied field of a child of each parent, one after the other.
func (f *families) drifted(ctx context.Context) ([]row, error) {
	watched, changed := newClock(), newClock()
	if err := f.watchPolicies(ctx, func(name string) { watched.note(name, time.Now()) }); err != nil {
		return nil, err
	}
	passes := f.begin()
	ended := passes.ended.expect(familyCount)
	_, requests, err := f.used(ctx, func() error {
		for i := range familyCount {
			changed.note(numbered(i), time.Now())
			if _, err := f.client.do(ctx, http.MethodPatch, f.policy(i), mergePatch, []byte(`{"spec":{"policyTypes":["Egress"]}}`)); err != nil {
				return err
			}
			if err := sleep(ctx, latencyInterval); err != nil {
				return err
			}
		}
		return f.operator.within(ctx, waitLimit, "repairing children", ended)
	})
	if err != nil {
		return nil, err
	}
	began := newClock()
	for name, at := range passes.at {
		if parent, ok := strings.CutPrefix(name, begun); ok {
			began.note(parent, at)
		}
	}
	bare, operator := watched.since(changed), began.since(changed)
	if len(bare) != familyCount || len(operator) != familyCount {
		return nil, fmt.Errorf("of %d changed children, %d were watched, and %d began a pass", familyCount, len(bare), len(operator))
	}
	milliseconds := func(samples []time.Duration) float64 { return quantile(samples, 0.99).Seconds() * 1000 }
	return []row{
		atMost("event of a child → pass, p99: behind a bare watch", 5, milliseconds(operator)-milliseconds(bare), "%.1f ms",
			note("%.1f, a bare watch's %.1f", milliseconds(operator), milliseconds(bare))),
		atMost("requests for one drift of a child: applies, and reads of metadata", 1, float64(requests["APPLY"]+requests["GET"])/familyCount, "%.2f", ""),
	}, nil
}

// irrelevant changes an annotation of a child of each parent, again and again.
func (f *families) irrelevant(ctx context.Context) ([]row, error) {
	passes := f.begin()
	cpu, requests, err := f.used(ctx, func() error {
		for round := range repeats {
			if err := f.patchAll(ctx, f.policy, note(`{"metadata":{"annotations":{"example.com/heartbeat":"%d"}}}`, round)); err != nil {
				return err
			}
		}
		return sleep(ctx, childrenRest) // a pass would follow within it
	})
	if err != nil {
		return nil, err
	}
	passes.mu.Lock()
	defer passes.mu.Unlock()
	return []row{
		atMost("an irrelevant event of a child: CPU", 15, cpu.Seconds()*1e6/familyCount/repeats, "%.0f µs", "with its transport"),
		atMost("… passes, and applies", 0, float64(len(passes.at)+requests["APPLY"]), "%.0f", ""),
	}, nil
}

// strange creates ConfigMaps of others.
func (f *families) strange(ctx context.Context) ([]row, error) {
	before, err := memoryOf(f.operator.pid())
	if err != nil {
		return nil, err
	}
	cpu, _, err := f.used(ctx, func() error {
		return parallel(strangers, 16, func(i int) error {
			body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"stranger-%d"},"data":{"text":%q}}`, i, strings.Repeat("x", 1000))
			_, err := f.client.do(ctx, http.MethodPost, bareChildren[0].path(f.namespace, ""), "application/json", body)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	after, err := memoryOf(f.operator.pid())
	if err != nil {
		return nil, err
	}
	return []row{{what: note("%d objects of others of an owned kind are created: RSS, CPU", strangers),
		measured: note("%+.1f MB, %.0f ms", megabytes(after.resident-before.resident), cpu.Seconds()*1000)}}, nil
}

// deleted deletes all parents. The cluster's garbage collection deletes the children.
func (f *families) deleted(ctx context.Context) ([]row, error) {
	_, requests, err := f.used(ctx, func() error {
		if _, err := f.client.do(ctx, http.MethodDelete, objects(f.namespace, ""), "", nil); err != nil {
			return err
		}
		return sleep(ctx, childrenRest)
	})
	return []row{atMost("deletion of all parents: applies of children", 0, float64(requests["APPLY"]), "%.0f", "")}, err
}

// watchPolicies calls a function for each later change of a NetworkPolicy.
func (f *families) watchPolicies(ctx context.Context, changed func(name string)) error {
	response, err := f.client.sendAccepting(ctx, http.MethodGet, bareChildren[3].path(f.namespace, "")+"?watch=1", metadataOnly, "", nil)
	if err != nil {
		return err
	}
	go func() {
		defer response.Body.Close()
		readLines(response.Body, "", func(text []byte) {
			if bytes.HasPrefix(text, []byte(`{"type":"MODIFIED"`)) {
				changed(objectName(text))
			}
		})
	}()
	return nil
}
