// Package redact hides values that must not be shown: the data of Secrets, and the fields that an operator's
// settings name. It knows where such values are, and finds them again in texts that others made.
package redact
