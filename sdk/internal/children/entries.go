package children

import (
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Entry is an element of metadata.managedFields, with the fields that a manager owns.
type Entry struct {
	Manager, Operation, Subresource, APIVersion string

	// Time is the time of the manager's last change of any field; zero if the API server records none, as for /scale.
	Time time.Time

	fields map[string]any
}

// Entries parses the decoded metadata.managedFields of an object.
func Entries(managedFields any) ([]Entry, error) {
	list, ok := managedFields.([]any)
	if !ok && managedFields != nil {
		return nil, fmt.Errorf("read metadata.managedFields: %T in place of a list", managedFields)
	}
	entries := make([]Entry, 0, len(list))
	for i, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("read metadata.managedFields[%d]: %T in place of an entry", i, item)
		}
		e := Entry{
			Manager: text(m["manager"]), Operation: text(m["operation"]), Subresource: text(m["subresource"]),
			APIVersion: text(m["apiVersion"]),
		}
		e.fields, _ = m["fieldsV1"].(map[string]any)
		if at := text(m["time"]); at != "" {
			var err error
			if e.Time, err = object.ParseTime(at); err != nil {
				return nil, fmt.Errorf("read metadata.managedFields[%d].time: %w", i, err)
			}
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// headOf reads the JSON of an entry. It reports whether the entry is for applies of a manager to the object itself, and returns the
// JSON of the entry's fieldsV1 and subresource.
func headOf(item []byte, manager string) (applied bool, fields, subresource []byte) {
	var by, operation []byte
	for key, value := range object.Members(item) {
		switch key {
		case "manager":
			by = value
		case "operation":
			operation = value
		case "subresource":
			subresource = value
		case "fieldsV1":
			fields = value
		}
	}
	applied = plain(subresource) == "" && stands(by, manager) && stands(operation, "Apply")
	return applied, fields, subresource
}

// ParseEntries parses the JSON of metadata.managedFields.
func ParseEntries(managedFields []byte) ([]Entry, error) {
	if len(managedFields) == 0 {
		return nil, nil
	}
	decoded, err := object.DecodeJSON(managedFields)
	if err != nil {
		return nil, fmt.Errorf("read metadata.managedFields: %w", err)
	}
	return Entries(decoded)
}

// ownOf returns the entry for the applies of a manager; nil if there is none.
func ownOf(entries []Entry, manager string) *Entry {
	for i := range entries {
		if entries[i].applied(manager) {
			return &entries[i]
		}
	}
	return nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// applied reports whether the entry is for applies of a manager to the object itself, and not to a subresource.
func (e *Entry) applied(manager string) bool {
	return e.Manager == manager && e.Operation == "Apply" && e.Subresource == ""
}
