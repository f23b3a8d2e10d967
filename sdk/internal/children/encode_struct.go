package children

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// encodeStruct returns the canonical tree of a Go value.
func encodeStruct(obj any) (any, error) { return encodeValue(reflect.ValueOf(obj)) }

// encodeValue returns the tree that [json.Marshal] and [json.Unmarshal] would make, in canonical form. It leaves out struct fields
// by value without content.
func encodeValue(v reflect.Value) (any, error) {
	if !v.IsValid() {
		return nil, nil
	}
	t := v.Type()
	switch kind := t.Kind(); {
	case (kind == reflect.Pointer || kind == reflect.Interface) && v.IsNil():
		return nil, nil
	case marshals(t) || v.CanAddr() && marshals(reflect.PointerTo(t)):
		return byJSON(v)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		return encodeValue(v.Elem())
	case reflect.Struct:
		return encodeFields(v)
	case reflect.Map:
		return encodeMap(v)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return byJSON(v)
		}
		return encodeList(v)
	case reflect.String:
		return strings.ToValidUTF8(v.String(), "\uFFFD"), nil
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Float64:
		return number(v.Float())
	default:
		return byJSON(v)
	}
}

func marshals(t reflect.Type) bool { return t.Implements(jsonMarshaler) || t.Implements(textMarshaler) }

// byJSON encodes a value with [json.Marshal]. It is for types with their own marshaler, and for rare types.
func byJSON(v reflect.Value) (any, error) {
	if v.CanAddr() {
		v = v.Addr() // uses a marshaler with a pointer receiver
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, err
	}
	out, err := object.DecodeJSON(text)
	if err != nil {
		return nil, err
	}
	return canonical(out)
}

func encodeMap(v reflect.Value) (any, error) {
	if v.IsNil() {
		return nil, nil
	}
	if v.Type().Key().Kind() != reflect.String || marshals(v.Type().Key()) {
		return byJSON(v)
	}
	out := make(map[string]any, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		item, err := encodeValue(entries.Value())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entries.Key(), err)
		}
		if !blank(item) {
			out[strings.ToValidUTF8(entries.Key().String(), "\uFFFD")] = item
		}
	}
	return out, nil
}

func encodeList(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return nil, nil
	}
	out := make([]any, v.Len())
	for i := range out {
		item, err := encodeValue(v.Index(i))
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out[i] = item
	}
	return out, nil
}

func encodeFields(v reflect.Value) (any, error) {
	fields, plain := fieldsOf(v.Type())
	if !plain {
		return byJSON(v)
	}
	out := make(map[string]any, len(fields)/2)
	for _, f := range fields {
		value := v.FieldByIndex(f.index)
		if f.omits && empty(value) || f.isStruct && value.IsZero() {
			continue
		}
		item, err := encodeValue(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if m, ok := item.(map[string]any); blank(item) || ok && len(m) == 0 && f.isStruct {
			continue
		}
		out[f.name] = item
	}
	return out, nil
}

// empty reports whether omitempty or omitzero leaves a value out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return v.Len() == 0
	case reflect.Struct:
		return false // encodeFields leaves out structs without content
	default:
		return v.IsZero()
	}
}

// member is a field of a struct with its JSON name.
type member struct {
	name     string
	index    []int // see [reflect.Value.FieldByIndex]
	omits    bool  // the tag has omitempty or omitzero
	isStruct bool  // the type is a struct, and not a pointer to a struct
}

type structFields struct {
	fields []member
	plain  bool // see fieldsOf
}

var knownStructs sync.Map // cache: keys are [reflect.Type], values are structFields

// fieldsOf returns the JSON fields of a struct. It returns false if encodeFields does not know all rules of [json.Marshal] that the
// type needs, such as the rules about ambiguous embedded fields.
func fieldsOf(t reflect.Type) ([]member, bool) {
	if known, ok := knownStructs.Load(t); ok {
		known := known.(structFields)
		return known.fields, known.plain
	}
	var found structFields
	found.fields, found.plain = collect(t, nil)
	names := map[string]bool{}
	for _, f := range found.fields {
		found.plain = found.plain && !names[f.name]
		names[f.name] = true
	}
	knownStructs.Store(t, found)
	return found.fields, found.plain
}

func collect(t reflect.Type, within []int) ([]member, bool) {
	var all []member
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		index := append(within[:len(within):len(within)], i)
		switch {
		case tag == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct || marshals(f.Type) || marshals(reflect.PointerTo(f.Type)) {
				return nil, false
			}
			inner, plain := collect(f.Type, index)
			if !plain {
				return nil, false
			}
			all = append(all, inner...)
			continue
		case !f.IsExported() || strings.Contains(options, "string"):
			return nil, false
		case name == "":
			name = f.Name
		}
		all = append(all, member{
			name: name, index: index, isStruct: f.Type.Kind() == reflect.Struct,
			omits: strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero"),
		})
	}
	return all, true
}
