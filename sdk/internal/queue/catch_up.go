package queue

// CatchUp is the progress of handling the objects of listings. It is zero as soon as all are handled.
type CatchUp struct {
	Handled int // objects whose handling has ended, or waits for a retry or a slot
	Objects int // all objects that were listed since the catch-up began
}

// add adds a listed object.
func (c *CatchUp) add(e *entry) {
	if !e.catching {
		e.catching = true
		c.Objects++
	}
}

// handled records that the handling of an object has ended.
func (c *CatchUp) handled(e *entry) {
	if e.catching {
		e.catching = false
		c.Handled++
		c.end()
	}
}

// drop removes an object that will not be handled.
func (c *CatchUp) drop(e *entry) {
	if e.catching {
		e.catching = false
		c.Objects--
		c.end()
	}
}

func (c *CatchUp) end() {
	if c.Handled == c.Objects {
		*c = CatchUp{}
	}
}
