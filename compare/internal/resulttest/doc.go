// Package resulttest has a full document for the tests of whatever reads documents: invented, but in the shapes that real ones have.
package resulttest
