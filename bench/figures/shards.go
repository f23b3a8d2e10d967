package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

const (
	shardCount   = 8    // the number of shards that the replicas divide among themselves
	shardObjects = 4000 // the number of objects that they share
)

// measureShards measures replicas on a server that sends all objects to each replica, and on a server that selects
// the objects by their shards.
func measureShards(ctx context.Context, l *environment) (rows []row, err error) {
	for _, server := range []struct{ what, gates string }{
		{"server sends all", ""},
		{"server selects", "ShardedListAndWatch=true"},
	} {
		measured, err := l.measureShardsOn(ctx, server.what, server.gates)
		if err != nil {
			return nil, err
		}
		rows = append(rows, measured...)
	}
	return rows, nil
}

func (l *environment) measureShardsOn(ctx context.Context, what, gates string) (rows []row, err error) {
	c, client, err := l.openCluster(ctx, devcluster.Options{FeatureGates: gates})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.closeCluster(c)) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ld, err := l.newLoad(ctx, c, client, "shards")
	if err != nil {
		return nil, err
	}
	t, err := ld.learn(ctx)
	if err != nil {
		return nil, err
	}
	if err := client.createMany(ctx, ld.namespace, 0, shardObjects-1, t.annotations); err != nil {
		return nil, err
	}
	for _, replicas := range []int{1, 2, 4, 8} {
		measured, err := ld.measureReplicas(ctx, replicas)
		if err != nil {
			return nil, err
		}
		measured[0].what = note("%d objects, %s, replicas: %d; memory in use of each", shardObjects, what, replicas)
		rows = append(rows, measured...)
	}
	return rows, nil
}

// measureReplicas starts replicas, and waits until they have resumed the objects and share them evenly.
func (ld *load) measureReplicas(ctx context.Context, replicas int) ([]row, error) {
	lease := note("bench-%d", replicas)
	resumed := newCompletion()
	all := resumed.expect(shardObjects)
	running, states := make([]*process, replicas), make([]*backgroundRun, replicas)
	for i := range running {
		states[i] = &backgroundRun{started: resumed, states: make(chan state, 1)}
		var err error
		running[i], err = ld.operate(ctx, program{
			line: states[i].line, env: []string{"KOPF_BENCH_RESUME=1"},
			args: []string{"--quiet", note("--shards=%d", shardCount), "--lease=" + ld.namespace + "/" + lease},
		})
		if err != nil {
			return nil, err
		}
	}
	if err := running[0].within(ctx, waitLimit, "resuming", all); err != nil {
		return nil, err
	}
	if err := ld.client.waitShared(ctx, ld.namespace, lease, replicas); err != nil {
		return nil, err
	}
	if err := sleep(ctx, settleTime); err != nil {
		return nil, err
	}
	took := time.Since(running[0].began)
	var used, resident, cpu []float64
	for i, p := range running {
		u, err := p.usage() // before the operator collects its garbage
		if err != nil {
			return nil, err
		}
		s, err := states[i].ask(ctx, p)
		if err != nil {
			return nil, err
		}
		used, resident, cpu = append(used, megabytes(s.heap+s.stacks)), append(resident, megabytes(u.memory.resident)), append(cpu, u.cpu.Seconds())
	}
	for _, p := range running {
		if _, err := p.stop(); err != nil {
			return nil, err
		}
	}
	return []row{
		{measured: ofEach(used, "%.1f", "MB"), samples: used},
		{what: "… RSS of each", measured: ofEach(resident, "%.1f", "MB"), samples: resident},
		{what: note("… CPU of each, in %.0f s", took.Seconds()), measured: ofEach(cpu, "%.2f", "s"), samples: cpu},
	}, nil
}

// ofEach returns the mean of what each replica used, the least and the most, and the sum.
func ofEach(samples []float64, format, unit string) string {
	least, most, sum := samples[0], samples[0], 0.0
	for _, n := range samples {
		least, most, sum = min(least, n), max(most, n), sum+n
	}
	return note(format+" %s ("+format+" to "+format+"), all together "+format+" %s", sum/float64(len(samples)), unit, least, most, sum, unit)
}

// waitShared waits until all shards of a lease are held, by so many replicas.
func (a *api) waitShared(ctx context.Context, namespace, lease string, replicas int) error {
	for began := time.Now(); ; {
		response, err := a.send(ctx, http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/"+namespace+"/leases?labelSelector=kopf.dev/shard,kopf.dev/shards="+lease, "", nil)
		if err != nil {
			return err
		}
		var list struct {
			Items []struct {
				Spec struct{ HolderIdentity string }
			}
		}
		err = json.NewDecoder(response.Body).Decode(&list)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return err
		}
		held := map[string]int{}
		for _, lease := range list.Items {
			held[lease.Spec.HolderIdentity]++
		}
		if delete(held, ""); len(held) == replicas && len(list.Items) == shardCount {
			even := true
			for _, n := range held {
				even = even && n == shardCount/replicas
			}
			if even {
				return nil
			}
		}
		if time.Since(began) > waitLimit {
			return fmt.Errorf("the replicas do not share the shards evenly: %v", held)
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}
