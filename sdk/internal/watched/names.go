package watched

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// every is the segment of a path that stands for all items of a list, and for all values of a map.
const every = "*"

// Names returns the sorted names of objects in the fields of a parent, without duplicates. The value of a field is a name, or a list
// of names. A name refers to the namespace of the parent, unless it begins with another namespace, as in "team/cert". If the objects
// are not namespaced, the names have no namespace.
func Names(parent *object.Object, fields []object.Path, namespaced bool) ([]Name, error) {
	var all []Name
	for _, field := range fields {
		i := slices.Index(field, every)
		if i < 0 {
			i = len(field)
		}
		value, err := parent.Find(field[:i])
		if err != nil {
			return nil, err
		}
		for _, text := range texts(nil, value, field[i:]) {
			name := Name{Name: text}
			if namespaced {
				name = qualified(text, parent.Namespace)
			}
			if name.Name != "" && (name.Namespace != "") == namespaced {
				all = append(all, name)
			}
		}
	}
	slices.SortFunc(all, func(a, b Name) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all), nil
}

func qualified(text, namespace string) Name {
	if before, after, ok := strings.Cut(text, "/"); ok {
		return Name{Namespace: before, Name: after}
	}
	return Name{Namespace: namespace, Name: text}
}

// texts appends the strings at a path of a value.
func texts(all []string, value any, field object.Path) []string {
	if len(field) > 0 && field[0] != every {
		inner, _ := object.Lookup(value, field[:1])
		return texts(all, inner, field[1:])
	}
	switch value := value.(type) {
	case string:
		if len(field) == 0 {
			all = append(all, value)
		}
	case []any:
		for _, item := range value {
			all = texts(all, item, field[min(1, len(field)):])
		}
	case map[string]any:
		if len(field) > 0 {
			for _, item := range value {
				all = texts(all, item, field[1:])
			}
		}
	}
	return all
}
