package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// lookInterval is the time between two reads of the shown object. eventsInterval is the time between two reads of its
// events, which the API server does not cache. lookTimeout limits one read.
const (
	lookInterval   = 2 * time.Second
	eventsInterval = 10 * time.Second
	lookTimeout    = 10 * time.Second
)

// wantedLook is the object that an attachment reads.
type wantedLook struct {
	Look
	first *Looked // state before the first response
}

// look starts to follow the object of an intent, instead of the previous object.
func (a *Attachment) look(intent Intent) error {
	facet := Facet(intent.Value)
	var wanted *wantedLook
	if intent.Object != nil {
		switch {
		case a.options.Look == nil:
			return errors.New("this attachment does not read objects")
		case facet != FacetObject && facet != FacetEvents:
			return fmt.Errorf("look at %q: want %s or %s", facet, FacetObject, FacetEvents)
		}
		look := Look{Object: *intent.Object, Facet: facet}
		wanted = &wantedLook{look, &Looked{Object: look.Object, Facet: look.Facet}}
	}
	a.looking.Lock()
	defer a.looking.Unlock()
	a.wanted = wanted
	a.update(func(s *State) {
		if s.Looked = nil; wanted != nil {
			s.Looked = wanted.first
		}
	})
	select {
	case a.lookAgain <- struct{}{}:
	default: // the previous signal is not read yet; it covers this change
	}
	return nil
}

// lookTo returns the shown object; nil if no object is shown.
func (a *Attachment) lookTo() *wantedLook {
	a.looking.Lock()
	defer a.looking.Unlock()
	return a.wanted
}

// followLooks reads the shown object until the context ends.
func (a *Attachment) followLooks(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	stop := func() {}
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.lookAgain:
		}
		stop()
		wanted := a.lookTo()
		if wanted == nil {
			continue
		}
		one, cancel := context.WithCancel(ctx)
		stop = cancel
		tasks.Go(func() {
			defer cancel()
			a.followLook(one, wanted)
		})
	}
}

// followLook reads one facet periodically, because the inspector has no stream of it.
func (a *Attachment) followLook(ctx context.Context, wanted *wantedLook) {
	current, interval := wanted.first, lookInterval
	if wanted.Facet == FacetEvents {
		interval = eventsInterval
	}
	for ctx.Err() == nil {
		reading, cancel := context.WithTimeout(ctx, lookTimeout)
		seen, err := a.options.Look(reading, a.client, wanted.Look)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			last := *current
			last.Error = a.whyNotSeen(err)
			seen = last
		}
		a.update(func(s *State) {
			if s.Looked == current { // otherwise, another object is already shown
				current = &seen
				s.Looked = current
			}
		})
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}

// whyNotSeen returns why the operator does not show the object.
func (a *Attachment) whyNotSeen(err error) string {
	if _, old := errors.AsType[*inspect.UnsupportedError](err); old {
		return "this operator is built with an older release of Kopf, which does not show this; rebuild it with the release of this program, or use kubectl"
	}
	if _, answered := errors.AsType[*inspect.UnreadableError](err); !answered && !a.State().Live {
		return "the operator does not answer; the object is read again when it runs"
	}
	return err.Error()
}
