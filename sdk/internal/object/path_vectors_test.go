package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

type dictsVector struct {
	Op          string         `json:"op"`
	Field       any            `json:"field"`
	Dict        map[string]any `json:"dict"`
	Value       any            `json:"value"`
	WithDefault bool           `json:"with_default"`
	Src         map[string]any `json:"src"`
	Dst         map[string]any `json:"dst"`
	Objs        any            `json:"objs"`
	Nested      []string       `json:"nested"`
	Result      any            `json:"result"`
	Error       string         `json:"error"`
}

// path reads the notations of the vectors: null, dotted text, or a list of keys.
func (v *dictsVector) path(t *testing.T) Path {
	t.Helper()
	switch field := v.Field.(type) {
	case string:
		return strings.Split(field, ".")
	case []any:
		var path Path
		for _, key := range field {
			path = append(path, key.(string))
		}
		return path
	}
	return nil
}

func TestVectorsOfPaths(t *testing.T) {
	vectors.Run(t, "dicts.json", func(t *testing.T, v *dictsVector) error {
		path := v.path(t)
		switch v.Op {
		case "parse_field":
			return parseVector(v)
		case "resolve":
			if !v.WithDefault {
				got, err := Resolve(v.Dict, path)
				return v.expect(got, err)
			}
			got, found := Lookup(v.Dict, path)
			if !found {
				got = "DEFAULT"
			}
			return v.expect(got, nil)
		case "ensure":
			dict := CloneMap(v.Dict)
			err := Ensure(dict, path, v.Value)
			return v.expect(dict, err)
		case "remove":
			dict := CloneMap(v.Dict)
			err := Remove(dict, path)
			return errors.Join(v.expect(dict, err), v.sameWithout(path, err))
		case "cherrypick":
			dst := CloneMap(v.Dst)
			err := Cherrypick(v.Src, dst, path)
			return v.expect(dst, err)
		case "walk":
			var nested []Path
			for _, field := range v.Nested {
				nested = append(nested, strings.Split(field, "."))
			}
			got := slices.Collect(Walk(v.Objs, nested...))
			if got == nil {
				got = []any{}
			}
			return v.expect(got, nil)
		}
		return fmt.Errorf("unknown operation %q", v.Op)
	})
}

func parseVector(v *dictsVector) error {
	want := Path{}
	for _, key := range v.Result.([]any) {
		want = append(want, key.(string))
	}
	field, isText := v.Field.(string)
	if !isText {
		return nil // a Path is its own notation
	}
	got, err := ParsePath(field)
	if field == "" && got == nil && err == nil {
		return vectors.Differs("the empty field is the whole object")
	}
	if err != nil {
		return err
	}
	if !want.Equal(got) {
		return fmt.Errorf("%q", got)
	}
	if got.String() != field {
		return fmt.Errorf("written back as %q", got.String())
	}
	return nil
}

// sameWithout holds the copying variant against the one in place.
func (v *dictsVector) sameWithout(path Path, err error) error {
	if err != nil {
		return nil
	}
	before := CloneMap(v.Dict)
	got := Without(v.Dict, path)
	if !cmp.Equal(before, v.Dict) {
		return errors.New("the original was changed")
	}
	return v.expect(got, nil)
}

func (v *dictsVector) expect(got any, err error) error {
	var kind string
	_, missing := errors.AsType[*missingError](err)
	_, notMap := errors.AsType[*NotMapError](err)
	switch {
	case missing:
		kind = "KeyError"
	case notMap:
		kind = "TypeError"
	case errors.Is(err, ErrRoot):
		kind = "ValueError"
	case err != nil:
		return err
	}
	if kind != v.Error {
		return fmt.Errorf("error %q: %w", kind, err)
	}
	if v.Error != "" {
		return nil
	}
	want, errWant := json.Marshal(v.Result)
	have, errHave := json.Marshal(got)
	if err := errors.Join(errWant, errHave); err != nil {
		return err
	}
	if diff := cmp.Diff(string(want), string(have)); diff != "" {
		return errors.New(diff)
	}
	return nil
}
