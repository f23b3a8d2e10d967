// Package frozen provides tests with operators in processes of their own, which the tests freeze and continue with signals.
package frozen
