package controllers

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

const (
	// hotPeriod is how long the server is asked again after a CRD has changed: what it
	// serves follows the CRD with a delay that nothing announces.
	hotPeriod = 3 * time.Second
	// coldPeriod is how old an answer may become when no CRD changes: aggregated API
	// servers come and go without one.
	coldPeriod = 30 * time.Second
)

// followingDiscovery answers which resources there are: freshly for a while after a
// CRD has changed, otherwise from memory.
type followingDiscovery struct {
	discovery.ServerResourcesInterface
	now func() time.Time

	mu       sync.Mutex
	hotUntil time.Time
	asked    time.Time
	answer   []*metav1.APIResourceList
	err      error
}

func newFollowingDiscovery(d discovery.ServerResourcesInterface, now func() time.Time) *followingDiscovery {
	return &followingDiscovery{ServerResourcesInterface: d, now: now, hotUntil: now().Add(hotPeriod)}
}

// changed tells that a CRD has changed.
func (d *followingDiscovery) changed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hotUntil = d.now().Add(hotPeriod)
}

// ServerPreferredResources is the one method that the garbage collector calls.
func (d *followingDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if d.answer == nil || now.Before(d.hotUntil) || now.Sub(d.asked) > coldPeriod {
		d.answer, d.err = d.ServerResourcesInterface.ServerPreferredResources()
		d.asked = now
	}
	return d.answer, d.err
}
