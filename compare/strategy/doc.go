// Package strategy has the ways to give rows their keys that are compared, behind one interface, and takes others.
package strategy
