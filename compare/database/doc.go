// Package database is a database that strategies are compared on: connecting to it, what it says of itself, what its tables weigh, and leaving it
// as it was.
package database
