package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

var inSteps = program{env: []string{"KOPF_BENCH_STEPS=1"}}

// measureSteps measures an operator whose handler has three steps, between two runs of a bare client that sends the same requests.
func measureSteps(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	patches, err := l.learnSteps(ctx, c, client)
	if err != nil {
		return nil, err
	}
	var bare time.Duration
	var operator usage
	var sent int
	for _, who := range []string{"bare-1", "operator", "bare-2"} {
		ld, err := l.newStepLoad(ctx, c, client, who, nil)
		if err != nil {
			return nil, err
		}
		if err := client.createMany(ctx, ld.namespace, 0, existingObjects, nil); err != nil {
			return nil, err
		}
		before, err := client.writes(ctx)
		if err != nil {
			return nil, err
		}
		if who == "operator" {
			if operator, err = ld.runUntil(ctx, inSteps, "handling in steps", ld.completion.expect(existingObjects), quiet); err != nil {
				return nil, err
			}
			after, err := client.writes(ctx)
			if err != nil {
				return nil, err
			}
			sent = after["PATCH"] - before["PATCH"]
			l.say("  operator: %.2f s", operator.took.Seconds())
			continue
		}
		took, err := ld.bareSteps(ctx, patches)
		if err != nil {
			return nil, err
		}
		l.say("  bare client: %.2f s", took.Seconds())
		bare += took / 2
	}
	return []row{
		atMost(note("%d existing objects, three steps each: time of a bare client's", existingObjects), 1.3, operator.took.Seconds()/bare.Seconds(), "%.2f ×",
			note("%.1f s, the bare client %.1f s", operator.took.Seconds(), bare.Seconds())),
		atMost("… PATCH requests per object", 4, float64(sent)/float64(existingObjects), "%.2f", ""),
		atMost("… peak RSS", 40, megabytes(operator.memory.peak), "%.1f MB", ""),
	}, nil
}

// newStepLoad creates a namespace whose objects count as handled when they have the last-handled state. The watch calls also, if it is
// not nil, for each line.
func (l *environment) newStepLoad(ctx context.Context, c *devcluster.Cluster, client *api, namespace string, also func([]byte)) (*load, error) {
	if err := client.createNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	ld := &load{env: l, cluster: c, client: client, namespace: namespace, completion: newCompletion()}
	return ld, client.watch(ctx, namespace, func(line []byte) {
		if also != nil {
			also(line)
		}
		if bytes.Contains(line, []byte(`"kopf.zalando.org/last-handled-configuration":"`)) {
			ld.completion.add(objectName(line))
		}
	})
}

// learnSteps returns the patches that the operator sends for an object, from the versions that they make.
func (l *environment) learnSteps(ctx context.Context, c *devcluster.Cluster, client *api) ([][]byte, error) {
	var mu sync.Mutex
	var versions []map[string]string
	var failed error
	ld, err := l.newStepLoad(ctx, c, client, "learn", func(line []byte) {
		var event struct {
			Object struct {
				Metadata struct {
					Annotations map[string]string `json:"annotations"`
				} `json:"metadata"`
			} `json:"object"`
		}
		mu.Lock()
		defer mu.Unlock()
		failed = errors.Join(failed, json.Unmarshal(line, &event))
		versions = append(versions, event.Object.Metadata.Annotations)
	})
	if err != nil {
		return nil, err
	}
	p, err := ld.operate(ctx, inSteps)
	if err != nil {
		return nil, err
	}
	done := ld.completion.expect(1)
	if err := client.create(ctx, ld.namespace, "warm", nil); err != nil {
		return nil, err
	}
	if err := p.within(ctx, waitLimit, "handling the first object", done); err != nil {
		return nil, err
	}
	if _, err := p.stop(); err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	var patches [][]byte
	for n := 1; n < len(versions) && failed == nil; n++ {
		changed := map[string]any{}
		for name := range versions[n-1] {
			changed[name] = nil
		}
		for name, value := range versions[n] {
			if changed[name] = value; versions[n-1][name] == value {
				delete(changed, name)
			}
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": changed}})
		if err != nil {
			return nil, err
		}
		patches = append(patches, patch)
	}
	if failed == nil && len(patches) != 4 {
		failed = errors.New(note("the operator has sent %d patches for an object, want 4", len(patches)))
	}
	return patches, failed
}

// bareSteps sends the patches of each object, one after the other.
func (ld *load) bareSteps(ctx context.Context, patches [][]byte) (time.Duration, error) {
	done, began := ld.completion.expect(existingObjects), time.Now()
	if err := parallel(existingObjects, bareWorkers, func(i int) error {
		for _, patch := range patches {
			if _, err := ld.client.do(ctx, http.MethodPatch, objects(ld.namespace, numbered(i)), mergePatch, patch); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	select {
	case <-done:
	case <-time.After(waitLimit):
		return 0, errors.New("the watch has not delivered all patches in time")
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	return time.Since(began), nil
}
