package object

import "unicode/utf8"

// Estimates of the memory of the parts of a tree, in bytes.
const (
	mapBytes   = 48  // an empty map
	groupBytes = 288 // up to eight entries of a map
	entryBytes = 64  // a further entry
	itemBytes  = 20  // an item of a list, with a part of the room for more items
	valueBytes = 24  // a list, a string or a number, without its text
)

// groupEntries is the number of entries for which a map allocates memory at once.
const groupEntries = 8

// Weigh checks a text as [Object.Tree] does, and estimates the memory of its tree in bytes. It builds no tree.
func Weigh(text []byte) (int64, error) {
	d := decoder{scanner: scanner{text: text}, strict: true}
	n := d.weigh(0)
	if d.peek(); d.pos < len(d.text) {
		d.fail("more than one value")
	}
	return n, d.err()
}

func (d *decoder) weigh(depth int) (n int64) {
	if depth > maxDepth {
		d.fail("nested too deep")
		return 0
	}
	switch d.peek() {
	case '{':
		n = mapBytes
		entries := 0
		for more := d.enter('{', '}'); more; more = d.after('}') {
			switch entries++; {
			case entries == 1:
				n += groupBytes
			case entries > groupEntries:
				n += entryBytes
			}
			if d.peek() != '"' {
				d.fail("a key is missing")
				return n
			}
			n += d.weighString()
			d.colon()
			n += d.weigh(depth + 1)
		}
	case '[':
		n = valueBytes
		for more := d.enter('[', ']'); more; more = d.after(']') {
			n += itemBytes + d.weigh(depth+1)
		}
	case '"':
		n = valueBytes + d.weighString()
	default:
		n = valueBytes
		d.decodeWord()
	}
	return n
}

// weighString checks the string that begins here, and returns the size of its text.
func (d *decoder) weighString() int64 {
	start := d.pos
	for i := start + 1; i < len(d.text); i++ {
		switch c := d.text[i]; {
		case c == '"':
			d.pos = i + 1
			return int64(i - start)
		case c == '\\' || c >= utf8.RuneSelf:
			return int64(len(d.decodeEscaped()))
		case c < ' ':
			d.fail(errControl.Error())
			return 0
		}
	}
	d.pos = len(d.text)
	d.fail("a string is not closed")
	return 0
}
