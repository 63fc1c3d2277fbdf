package main

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/dsn"
)

// mayHavePassword matches what may be a DSN with a password: before an @, in a parameter, or anywhere in a malformed one.
var mayHavePassword = regexp.MustCompile(`:.*@|pass[a-z]*=|(mysql|postgres|postgresql):`)

// withoutSecrets returns an error's message without the arguments that may be a DSN with a password. The package dsn hides those that are where a
// DSN belongs; an error in the command line, such as -db=DSN, repeats the others.
func withoutSecrets(message string, args []string) string {
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=") // of --flag=DSN
		texts := []string{arg, value}
		if strings.HasPrefix(arg, "-") && len(arg) > 2 {
			texts = append(texts, arg[2:]) // of -nDSN
		}
		for _, text := range texts {
			if parsed, err := dsn.Parse(text); !mayHavePassword.MatchString(text) || err == nil && parsed.String() == text {
				continue // there is none in it
			}
			quoted := strconv.Quote(text)
			message = strings.NewReplacer(text, "…", quoted[1:len(quoted)-1], "…").Replace(message)
		}
	}
	return message
}
