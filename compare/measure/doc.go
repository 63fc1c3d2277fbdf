// Package measure has the measurements of a strategy that has been verified, each with its method.
package measure
