package parts

// Clicks are the places on the screen where a click has the effect of a key.
type Clicks struct{ areas []clickArea }

type clickArea struct {
	y, from, to int
	key         string
}

// Reset forgets all places, before the screen is drawn.
func (c *Clicks) Reset() { c.areas = c.areas[:0] }

// Add assigns a key to a range of columns of a line.
func (c *Clicks) Add(y, from, to int, key string) {
	c.areas = append(c.areas, clickArea{y, from, to, key})
}

// KeyAt returns the key of a place; empty if a click there has no effect.
func (c *Clicks) KeyAt(x, y int) string {
	for _, a := range c.areas {
		if a.y == y && x >= a.from && x < a.to {
			return a.key
		}
	}
	return ""
}
