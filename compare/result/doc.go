// Package result is the document that a comparison ends in: what was measured, where, with every raw sample, and what the samples say.
package result
