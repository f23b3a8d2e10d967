package runner

import (
	"context"
	"errors"
	"fmt"
)

// look starts to follow the object of an intent, instead of the previous object.
func (l *loop) look(intent Intent) error {
	facet := Facet(intent.Value)
	if intent.Object != nil {
		switch {
		case l.opts.Objects == nil:
			return errors.New("this session does not read objects of the cluster")
		case facet != FacetObject && facet != FacetEvents:
			return fmt.Errorf("look at %q: want %s or %s", facet, FacetObject, FacetEvents)
		}
	}
	l.looking = intent
	l.lookAgain()
	return nil
}

// lookAgain restarts the reads of the shown object, for example after the cluster changed.
func (l *loop) lookAgain() {
	if l.stopLook != nil {
		l.stopLook()
		l.stopLook = nil
	}
	if l.looking.Object == nil {
		l.store.update(func(s *State) { s.Looked = nil })
		return
	}
	look := Look{Object: *l.looking.Object, Facet: Facet(l.looking.Value), Hidden: l.hidden()}
	current := &Looked{Object: look.Object, Facet: look.Facet}
	if l.cluster == nil {
		current.Error = "the cluster is not ready"
	}
	l.store.update(func(s *State) { s.Looked = current })
	if l.cluster == nil {
		return
	}
	ctx, cancel := context.WithCancel(l.ctx)
	l.stopLook = cancel
	l.tasks.Go(func() {
		defer cancel()
		l.opts.Objects.Watch(ctx, look, func(seen Looked) {
			l.store.update(func(s *State) {
				if s.Looked == current { // otherwise, another object is already shown
					current = &seen
					s.Looked = current
				}
			})
		})
	})
}

// hidden returns the fields whose values the operator hides.
func (l *loop) hidden() [][]string {
	if snapshot := l.State().Snapshot; snapshot != nil {
		return snapshot.Operator.Hidden
	}
	return nil
}
