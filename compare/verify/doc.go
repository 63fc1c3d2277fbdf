// Package verify looks for what is wrong with a strategy's keys before anything is timed.
package verify
