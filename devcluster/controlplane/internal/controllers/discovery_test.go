package controllers

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// countingDiscovery counts how often it is asked.
type countingDiscovery struct {
	discovery.ServerResourcesInterface
	asked int
	err   error
}

func (d *countingDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	d.asked++
	return []*metav1.APIResourceList{{GroupVersion: "v1"}}, d.err
}

func TestCachedDiscovery_AsksServerAfterChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &countingDiscovery{err: errors.New("one group failed")}
		d := newCachedDiscovery(server, time.Now)
		ask := func() int {
			t.Helper()
			before := server.asked
			if list, err := d.ServerPreferredResources(); len(list) != 1 || !errors.Is(err, server.err) {
				t.Errorf("the answer is %v (%v)", list, err)
			}
			return server.asked - before
		}
		if first, second := ask(), ask(); first != 1 || second != 1 {
			t.Error("at first it is not asked")
		}
		time.Sleep(hotPeriod)
		if ask() != 0 {
			t.Error("it is asked without a change")
		}
		d.changed()
		if first, second := ask(), ask(); first != 1 || second != 1 {
			t.Error("after a change it is not asked")
		}
		time.Sleep(hotPeriod)
		if ask() != 0 {
			t.Error("it is asked for too long")
		}
		time.Sleep(coldPeriod)
		if ask() != 1 || ask() != 0 {
			t.Error("an old answer is not renewed once")
		}
	})
}
