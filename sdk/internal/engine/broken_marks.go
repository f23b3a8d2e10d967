package engine

import (
	"errors"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// readMarks calls a function that reads what is stored on the object. What cannot be decoded is
// excluded, and the function is called again: an object whose stored state others have broken is handled
// as one without it, and can be deleted.
func (c *cycle) readMarks(read func() error) error {
	for {
		err := read()
		var broken *state.BrokenMark
		if !errors.As(err, &broken) || !c.exclude(broken) {
			return err
		}
	}
}

// progressOf returns the progress of some handlers.
func (c *cycle) progressOf(ids []string) (progress state.Progress, err error) {
	err = c.readMarks(func() error {
		progress, err = state.ReadProgress(c.stored, c.progress, ids, c.deps.now())
		return err
	})
	return progress, err
}

// exclude makes the storages see the object without a broken record. It returns false if that makes
// no difference, since the record is not where its storage says.
func (c *cycle) exclude(mark *state.BrokenMark) bool {
	if _, exists := object.Lookup(c.stored, mark.Path); !exists {
		return false
	}
	c.stored = object.Without(c.stored, mark.Path)
	c.bind(nil)
	c.broken = append(c.broken, mark)
	if c.memory.warnOnce("broken " + mark.Error()) {
		observe.Tell(c.deps.sink, observe.MarkBroken{Subject: c.subject, Mark: mark})
	}
	return true
}

// setBrokenAside moves the stored state that could not be read out of the way. An object that no handler of
// changes is interested in is left alone.
func (c *cycle) setBrokenAside() {
	if !c.changing {
		return
	}
	for _, mark := range c.broken {
		mark.SetAside(c.tree, c.writes.own)
	}
}
