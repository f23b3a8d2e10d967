package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// stragglers are daemons and timers that were asked to end while nobody handles their
// objects, and that somebody therefore has to look after.
type stragglers struct {
	mu     sync.Mutex
	closed bool // the operator ends, and looks after all of them
	groups map[queue.Key]*daemons.Group
	waits  sync.WaitGroup
}

// endLater ends the tasks of an object that is gone, is not served any more, or is handled
// by somebody else.
func (o *operator) endLater(key queue.Key, m *memory, reason daemons.Reason) {
	group := m.group.Load()
	if group == nil || len(group.Tasks()) == 0 {
		return
	}
	s := &o.stragglers
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups == nil {
		s.groups = map[queue.Key]*daemons.Group{}
	}
	s.groups[key] = group
	m.report.Load().stopping(group.Tasks())
	if s.closed {
		return
	}
	s.waits.Go(func() {
		group.Wait(o.background, reason)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.groups[key] == group && len(group.Tasks()) == 0 {
			delete(s.groups, key)
		}
	})
}

// straggle tells whether tasks of an object go on that were started for an earlier memory
// of it.
func (s *stragglers) straggle(key queue.Key, current *daemons.Group) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	group := s.groups[key]
	return group != nil && group != current && len(group.Tasks()) > 0
}

// close returns all stragglers. From now on, nobody else waits for new ones.
func (s *stragglers) close() []*daemons.Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var groups []*daemons.Group
	for _, group := range s.groups {
		groups = append(groups, group)
	}
	return groups
}

// endAll ends the tasks of all objects, and waits for them as long as they may take. Nothing
// may be started any more.
func (o *operator) endAll(reason daemons.Reason, within time.Duration) {
	// The memories first: what leaves them is a straggler before.
	var groups []*daemons.Group
	for _, m := range o.memories.all() {
		if group := m.group.Load(); group != nil {
			groups = append(groups, group)
		}
	}
	groups = append(groups, o.stragglers.close()...)
	var wg sync.WaitGroup
	for _, group := range groups {
		if len(group.Tasks()) == 0 {
			continue
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(o.background, within+patienceOf(group))
			defer cancel()
			group.Wait(ctx, reason)
			for _, task := range group.Tasks() {
				o.logger.Warn(fmt.Sprintf("%s ignores that the operator stops: it is left alone.", task), "of", task.Live().String())
			}
		})
	}
	wg.Wait()
}

// patienceOf is how long the daemons of an object have asked for.
func patienceOf(group *daemons.Group) time.Duration {
	var longest time.Duration
	for _, task := range group.Tasks() {
		var asked time.Duration
		if d := task.Handler.CancellationBackoff; d != nil {
			asked += *d
		}
		if d := task.Handler.CancellationTimeout; d != nil {
			asked += *d
		}
		longest = max(longest, asked)
	}
	return longest
}
