package apply

import (
	"errors"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// withoutSecrets returns an error in which the data of a Secret are replaced: the API server quotes values that
// it does not accept.
func (m Manifest) withoutSecrets(err error) error {
	object := m.Object.Object
	secrets := printable.NewSecrets(printable.FieldsToHide(object, nil), func() []any { return []any{object} })
	text := secrets.Text(err.Error())
	if text == err.Error() {
		return err
	}
	return errors.New(text) // the original is not wrapped, as it would still show them
}
