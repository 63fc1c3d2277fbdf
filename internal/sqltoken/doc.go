// Package sqltoken cuts SQL statements into tokens: names, keywords, texts and marks, without spaces and comments. It knows no grammar
// beyond that, fails for no statement, and serves to find names and clauses in definitions that databases hand out.
package sqltoken
