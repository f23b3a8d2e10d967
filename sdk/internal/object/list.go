package object

import (
	"encoding/json"
	"fmt"
	"io"
)

// ReadList reads a list object by object, so that the whole text is never in memory.
func ReadList(r io.Reader, opts ParseOptions) (*List, error) {
	list := new(List)
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
			return readItems(dec, list, opts)
		}
		var ignored json.RawMessage
		return dec.Decode(&ignored)
	})
	if err != nil {
		return nil, fmt.Errorf("read a list: %w", err)
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
			return fmt.Errorf("%w: a key is %v", ErrSyntax, key)
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
	if token == nil { // an empty list of some servers
		return nil
	}
	if token != json.Delim('[') {
		return fmt.Errorf("%w: items are %v", ErrSyntax, token)
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
		list.Items = append(list.Items, object)
	}
	return delimiter(dec, ']')
}

func delimiter(dec *json.Decoder, want json.Delim) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("%w: %v instead of %v", ErrSyntax, token, want)
	}
	return nil
}
