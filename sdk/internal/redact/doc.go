// Package redact hides values that must not be shown: the data of Secrets, and the fields that an operator's settings
// name. It finds these values in objects, and in texts of other components, such as error messages.
package redact
