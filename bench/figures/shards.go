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

// shardCount is the number of shards that the replicas divide among themselves.
const shardCount = 16

// measureShards measures replicas on a server that sends all objects to each of them, and on one that selects
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
	c, client, err := l.openCluster(ctx, gates)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.closeCluster(c)) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, replicas := range []int{1, 2, 4} {
		r, err := l.measureReplicas(ctx, c, client, replicas)
		if err != nil {
			return nil, err
		}
		r.what = note("%d replicas, %d objects created, %s: of each replica", replicas, manyObjects, what)
		rows = append(rows, r)
	}
	return rows, nil
}

// measureReplicas creates objects while replicas share them evenly.
func (l *environment) measureReplicas(ctx context.Context, c *devcluster.Cluster, client *api, replicas int) (row, error) {
	ld, err := l.newLoad(ctx, c, client, fmt.Sprint("replicas-", replicas))
	if err != nil {
		return row{}, err
	}
	var running []*process
	for range replicas {
		p, err := ld.operate(ctx, program{args: []string{note("--shards=%d", shardCount), "--lease=" + ld.namespace + "/bench"}})
		if err != nil {
			return row{}, err
		}
		running = append(running, p)
	}
	if err := client.waitShared(ctx, ld.namespace, replicas); err != nil {
		return row{}, err
	}
	if err := sleep(ctx, 2*time.Second); err != nil { // the streams have begun again
		return row{}, err
	}
	before := make([]time.Duration, replicas)
	for i, p := range running {
		if before[i], err = cpuOf(p.pid()); err != nil {
			return row{}, err
		}
	}
	began, done := time.Now(), ld.completion.expect(manyObjects)
	if err := client.createMany(ctx, ld.namespace, 0, manyObjects, nil); err != nil {
		return row{}, err
	}
	if err := running[0].within(ctx, waitLimit, "handling the objects", done); err != nil {
		return row{}, err
	}
	took := time.Since(began)
	var cpu time.Duration
	var peak, least, most int64
	for i, p := range running {
		now, err := cpuOf(p.pid())
		if err != nil {
			return row{}, err
		}
		m, err := memoryOf(p.pid())
		if err != nil {
			return row{}, err
		}
		cpu += now - before[i]
		if peak += m.peak; least == 0 || m.peak < least {
			least = m.peak
		}
		most = max(most, m.peak)
	}
	for _, p := range running {
		if _, err := p.stop(); err != nil {
			return row{}, err
		}
	}
	n := int64(replicas)
	return row{measured: note("CPU %.2f s, peak RSS %.1f MB (%.1f to %.1f), in %.1f s",
		cpu.Seconds()/float64(replicas), megabytes(peak/n), megabytes(least), megabytes(most), took.Seconds())}, nil
}

// waitShared waits until all shards are held, by so many replicas.
func (a *api) waitShared(ctx context.Context, namespace string, replicas int) error {
	for began := time.Now(); ; {
		response, err := a.send(ctx, http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/"+namespace+"/leases?labelSelector=kopf.dev/shard", "", nil)
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
