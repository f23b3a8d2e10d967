package objects

import (
	"errors"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// mark is shown in place of a hidden value.
const mark = printable.Redacted

// secretsOf returns what hides the values of an object: the data of a Secret, and some fields.
func secretsOf(o map[string]any, fields [][]string) *printable.Secrets {
	return printable.NewSecrets(printable.FieldsToHide(o, fields), func() []any { return []any{o} })
}

// hide returns an object without hidden values.
func hide(o map[string]any, fields [][]string) map[string]any {
	shown, _ := secretsOf(o, fields).Value(nil, o).(map[string]any)
	return shown
}

// withoutSecrets returns an error without the values that are hidden in an object: the API server quotes values that it
// refuses.
func withoutSecrets(err error, o map[string]any, fields [][]string) error {
	if err == nil {
		return nil
	}
	text := secretsOf(o, fields).Text(err.Error())
	if text == err.Error() {
		return err
	}
	return errors.New(text) // the original is not wrapped, as it would still show them
}
