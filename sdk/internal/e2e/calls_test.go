package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// calls records the calls of handlers, in order: "id", or "name id" for several objects.
type calls struct {
	mu   sync.Mutex
	list []string
}

func (c *calls) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, what)
}

func (c *calls) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

func (c *calls) count(what string) int {
	n := 0
	for _, one := range c.all() {
		if one == what {
			n++
		}
	}
	return n
}

// wait waits until there were so many calls.
func (c *calls) wait(cluster *kopftest.Cluster, what string, count int) {
	cluster.T().Helper()
	cluster.WaitUntil(fmt.Sprintf("%s is called %d times", what, count), func() bool { return c.count(what) >= count })
}

// are fails the test unless these are the calls so far.
func (c *calls) are(t testing.TB, want ...string) {
	t.Helper()
	if got := c.all(); !slices.Equal(got, want) {
		t.Errorf("called: %s; wanted: %s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

// does returns a handler that records its call and succeeds.
func (c *calls) does(id string) func(context.Context, *change) error {
	return func(context.Context, *change) error {
		c.add(id)
		return nil
	}
}

// fails returns a handler that records its call and returns the errors in turn, then succeeds.
func (c *calls) fails(id string, errs ...error) func(context.Context, *change) error {
	return func(_ context.Context, r *change) error {
		c.add(id)
		if r.Retry < len(errs) {
			return errs[r.Retry]
		}
		return nil
	}
}

func (c *calls) is(want ...string) func() bool {
	return func() bool { return slices.Equal(c.all(), want) }
}
