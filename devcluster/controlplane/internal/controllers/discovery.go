package controllers

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

const (
	// hotPeriod is how long every call asks the server after a change of a CRD: the served
	// resources follow with a delay that is not announced.
	hotPeriod = 3 * time.Second
	// coldPeriod is the maximal age of an answer without a change of a CRD: aggregated API
	// servers change without one.
	coldPeriod = 30 * time.Second
)

// cachedDiscovery lists the served resources: from the server for a while after a change of a
// CRD, otherwise from memory. It may be used concurrently.
type cachedDiscovery struct {
	discovery.ServerResourcesInterface
	now func() time.Time

	mu       sync.Mutex
	hotUntil time.Time
	asked    time.Time
	answer   []*metav1.APIResourceList
	err      error
}

func newCachedDiscovery(d discovery.ServerResourcesInterface, now func() time.Time) *cachedDiscovery {
	return &cachedDiscovery{ServerResourcesInterface: d, now: now, hotUntil: now().Add(hotPeriod)}
}

// changed reports a change of a CRD.
func (d *cachedDiscovery) changed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hotUntil = d.now().Add(hotPeriod)
}

// ServerPreferredResources is the one method that the garbage collector calls.
func (d *cachedDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if d.answer == nil || now.Before(d.hotUntil) || now.Sub(d.asked) > coldPeriod {
		d.answer, d.err = d.ServerResourcesInterface.ServerPreferredResources()
		d.asked = now
	}
	return d.answer, d.err
}
