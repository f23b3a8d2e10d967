package queue

// CatchUp is the progress of handling the objects of listings. It is zero as soon as all are handled.
type CatchUp struct {
	Handled int // objects whose handling has ended, or waits for a retry or a slot
	Objects int // all objects that were listed since the catch-up began
}

// catchUp counts the objects of listings.
type catchUp struct {
	CatchUp
	changed func(CatchUp) // see [Options].Progress
}

// add adds a listed object.
func (c *catchUp) add(e *entry) {
	if !e.catching {
		e.catching = true
		c.update(0, 1)
	}
}

// handled records that the handling of an object has ended.
func (c *catchUp) handled(e *entry) {
	if e.catching {
		e.catching = false
		c.update(1, 0)
	}
}

// drop removes an object that will not be handled.
func (c *catchUp) drop(e *entry) {
	if e.catching {
		e.catching = false
		c.update(0, -1)
	}
}

func (c *catchUp) update(handled, objects int) {
	c.Handled += handled
	c.Objects += objects
	if c.Handled == c.Objects {
		c.CatchUp = CatchUp{}
	}
	if c.changed != nil {
		c.changed(c.CatchUp)
	}
}
