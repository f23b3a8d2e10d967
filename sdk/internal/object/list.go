package object

import (
	"encoding/json"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// List is a list of objects, or a page of it.
type List struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*Object
}

// GetListMeta implements [metav1.ListMetaAccessor].
func (l *List) GetListMeta() metav1.ListInterface { return &l.ListMeta }

// DeepCopyObject copies the list, but not its objects, which are immutable.
func (l *List) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = append([]*Object(nil), l.Items...)
	return &out
}

// ReadList reads a list object by object, never holding all of its text in memory. A text without
// items is an error: taken for an empty list, it would mean that all objects were deleted.
func ReadList(r io.Reader, opts ParseOptions) (*List, error) {
	list, listed := new(List), false
	dec := json.NewDecoder(r)
	err := readMembers(dec, func(key string) error {
		switch key {
		case "apiVersion":
			return dec.Decode(&list.APIVersion)
		case "kind":
			return dec.Decode(&list.Kind)
		case "metadata":
			return dec.Decode(&list.ListMeta)
		case "items":
			listed = true
			return readItems(dec, list, opts)
		}
		var ignored json.RawMessage
		return dec.Decode(&ignored)
	})
	if err == nil && !listed {
		err = fmt.Errorf("%w: no items", errSyntax)
	}
	if err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	return list, nil
}

func readMembers(dec *json.Decoder, member func(key string) error) error {
	if err := delimiter(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return fmt.Errorf("%w: a key is %v", errSyntax, key)
		}
		if err := member(name); err != nil {
			return err
		}
	}
	return delimiter(dec, '}')
}

func readItems(dec *json.Decoder, list *List, opts ParseOptions) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	if token == nil { // some servers send null for an empty list
		return nil
	}
	if token != json.Delim('[') {
		return fmt.Errorf("%w: items are %v", errSyntax, token)
	}
	var item json.RawMessage
	for dec.More() {
		if err := dec.Decode(&item); err != nil {
			return err
		}
		object, err := Parse(item, opts)
		if err != nil {
			return err
		}
		if opts.Keep == nil || opts.Keep(object) {
			list.Items = append(list.Items, object)
		}
	}
	return delimiter(dec, ']')
}

func delimiter(dec *json.Decoder, want json.Delim) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("%w: %v instead of %v", errSyntax, token, want)
	}
	return nil
}
