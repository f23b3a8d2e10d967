package main

import (
	"context"
	"net/http"

	"github.com/kopf-dev/kopf/devcluster"
)

// measureChildStatus measures the change of a child's status, where the operator keeps the conditions of the parents.
func measureChildStatus(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	ld, err := l.newLoad(ctx, c, client, "status")
	if err != nil {
		return nil, err
	}
	f := &families{load: ld}
	created := f.begin().ended.expect(familyCount)
	if f.operator, err = ld.operate(ctx, program{env: []string{"KOPF_BENCH_CHILDREN=ingress"}, line: f.line}); err != nil {
		return nil, err
	}
	if err := client.createMany(ctx, ld.namespace, 0, familyCount, nil); err != nil {
		return nil, err
	}
	if err := f.operator.within(ctx, waitLimit, "creating children", created); err != nil {
		return nil, err
	}
	if err := sleep(ctx, childrenRest); err != nil { // until the conditions are written
		return nil, err
	}
	before, err := client.statusRequests(ctx)
	if err != nil {
		return nil, err
	}
	ready := f.begin().ended.expect(familyCount)
	ingress := func(i int) string {
		return "/apis/networking.k8s.io/v1/namespaces/" + ld.namespace + "/ingresses/" + numbered(i) + "/status"
	}
	if err := f.patchAll(ctx, ingress, `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`); err != nil {
		return nil, err
	}
	if err := f.operator.within(ctx, waitLimit, "the passes", ready); err != nil {
		return nil, err
	}
	if err := sleep(ctx, childrenRest); err != nil {
		return nil, err
	}
	after, err := client.statusRequests(ctx)
	if err != nil {
		return nil, err
	}
	each := func(i int) float64 { return float64(after[i]-before[i]) / familyCount }
	_, err = f.operator.stop()
	return []row{
		atMost("the status of a child makes it ready: requests for the child", 0, each(0)-1, "%.2f", "without the change itself"),
		atMost("… requests for the conditions of the parent", 2, each(1), "%.2f", ""),
	}, err
}

// statusRequests returns the numbers of requests for the children and for the parents, but for lists and streams.
func (a *api) statusRequests(ctx context.Context) (sent [2]int, err error) {
	for i, resource := range []string{"ingresses", "kopfexamples"} {
		requests, err := a.requests(ctx, []string{resource})
		if err != nil {
			return sent, err
		}
		for _, verb := range []string{http.MethodGet, http.MethodPatch, "APPLY", http.MethodPut} {
			sent[i] += requests[verb]
		}
	}
	return sent, nil
}
