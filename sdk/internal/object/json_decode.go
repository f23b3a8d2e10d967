package object

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth limits the nesting of values, so that no text exhausts the stack.
const maxDepth = 10000

// DecodeJSON decodes a text into a tree as Python does. Integers become int64, or
// [json.Number] if they exceed 64 bits; other numbers become float64. NaN and the
// infinities are accepted, and the last one of repeated keys counts.
func DecodeJSON(text []byte) (any, error) {
	d := decoder{scanner: scanner{text: text}}
	return d.whole()
}

// decodeStrict decodes a text into a tree as Go does, for the API server's texts. Unlike
// with [DecodeJSON], integers that exceed 64 bits become float64; NaN, the infinities and
// numbers out of the range of float64 are errors; invalid Unicode becomes U+FFFD.
func decodeStrict(text []byte) (any, error) {
	d := decoder{scanner: scanner{text: text}, strict: true}
	return d.whole()
}

type decoder struct {
	scanner
	strict bool
}

// whole decodes the value that is all of the text.
func (d *decoder) whole() (any, error) {
	v := d.decode(0)
	if d.peek(); d.pos < len(d.text) {
		d.fail("more than one value")
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return v, nil
}

func (d *decoder) decode(depth int) any {
	if depth > maxDepth {
		d.fail("nested too deep")
		return nil
	}
	switch d.peek() {
	case '{':
		return d.decodeObject(depth)
	case '[':
		return d.decodeList(depth)
	case '"':
		return d.decodeString()
	}
	return d.decodeWord()
}

func (d *decoder) decodeObject(depth int) any {
	out := map[string]any{}
	for more := d.enter('{', '}'); more; more = d.after('}') {
		key := d.decodeKey()
		d.colon()
		out[key] = d.decode(depth + 1)
	}
	return out
}

// usualList is the initial capacity of a list.
const usualList = 4

func (d *decoder) decodeList(depth int) any {
	more := d.enter('[', ']')
	if !more {
		return []any{}
	}
	out := make([]any, 0, usualList)
	for ; more; more = d.after(']') {
		out = append(out, d.decode(depth+1))
	}
	return out
}

// usualKeys are keys of nearly all objects. Decoding them allocates nothing.
var usualKeys = func() map[string]string {
	keys := make(map[string]string)
	for _, key := range []string{
		"apiVersion", "kind", "metadata", "spec", "status",
		"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
		"deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "finalizers", "ownerReferences",
		"managedFields", "manager", "operation", "subresource", "time", "fieldsType", "fieldsV1",
		"controller", "blockOwnerDeletion", "type", "reason", "message", "lastTransitionTime", "conditions",
		"kopf.zalando.org/last-handled-configuration", "kubectl.kubernetes.io/last-applied-configuration",
	} {
		keys[key] = key
	}
	return keys
}()

// decodeKey decodes a key, without its colon.
func (d *decoder) decodeKey() string {
	if d.peek() != '"' {
		d.fail("a key is missing")
		return ""
	}
	if length := bytes.IndexByte(d.text[d.pos+1:], '"'); length >= 0 {
		if key, ok := usualKeys[string(d.text[d.pos+1:d.pos+1+length])]; ok {
			d.pos += length + 2
			return key
		}
	}
	return d.decodeString()
}

// decodeString decodes the string that begins here.
func (d *decoder) decodeString() string {
	start := d.pos
	for i := start + 1; i < len(d.text); i++ {
		switch c := d.text[i]; {
		case c == '"':
			d.pos = i + 1
			return string(d.text[start+1 : i])
		case c == '\\' || c >= utf8.RuneSelf:
			return d.decodeEscaped()
		case c < ' ':
			d.fail(errControl.Error())
			return ""
		}
	}
	d.pos = len(d.text)
	d.fail("a string is not closed")
	return ""
}

// decodeEscaped decodes a string with escapes or with other characters than ASCII.
func (d *decoder) decodeEscaped() string {
	start := d.pos
	quoted := d.quoted()
	if quoted == nil {
		return ""
	}
	text, err := unescape(quoted[1 : len(quoted)-1])
	if err != nil {
		d.pos = start
		d.fail(err.Error())
		return ""
	}
	if d.strict {
		// The bytes that stand for surrogates are not valid UTF-8 either.
		return strings.ToValidUTF8(string(text), string(utf8.RuneError))
	}
	return string(text)
}

// decodeWord decodes null, a boolean or a number.
func (d *decoder) decodeWord() any {
	d.peek()
	start := d.pos
	word := d.value()
	switch string(word) {
	case "null":
		return nil
	case "true":
		return true
	case "false":
		return false
	}
	v, ok := d.number(word)
	if !ok && d.problem == "" {
		d.pos = start
		d.fail("neither a value nor a number")
	}
	return v
}

func (d *decoder) number(word []byte) (any, bool) {
	isInt, ok := checkNumber(string(word))
	if !ok {
		return d.beyondFloats(word)
	}
	if isInt {
		if i, err := strconv.ParseInt(string(word), 10, 64); err == nil {
			return i, true
		}
		if !d.strict {
			return json.Number(word), true
		}
	}
	f, err := strconv.ParseFloat(string(word), 64)
	// As in Python, a number out of range is infinity.
	return f, err == nil || !d.strict && math.IsInf(f, 0)
}

// beyondFloats decodes numbers that are valid in Python but not in Go.
func (d *decoder) beyondFloats(word []byte) (any, bool) {
	if d.strict {
		return nil, false
	}
	switch string(word) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	return nil, false
}

// checkNumber checks a word against the grammar of JSON numbers, which is stricter than the
// parser of Go.
func checkNumber(s string) (isInt, ok bool) {
	digits := func() bool {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	if s != "" && s[0] == '0' {
		s = s[1:]
	} else if !digits() {
		return false, false
	}
	isInt = s == ""
	if s != "" && s[0] == '.' {
		s = s[1:]
		if !digits() {
			return false, false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if !digits() {
			return false, false
		}
	}
	return isInt, s == ""
}
