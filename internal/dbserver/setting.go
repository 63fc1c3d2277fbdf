package dbserver

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Scheme begins the text that names a private server.
const Scheme = "private:"

const forms = "want private:mariadb, private:mysql (the same) or private:postgres, and settings as in private:mysql?innodb_buffer_pool_size=32M&sync_binlog=0"

// Parse reads the name of a private server as a command line has it: "private:", the
// kind, and settings of the server, each NAME=VALUE, between a question mark and
// ampersands; %26 is an ampersand in a value. What it returns is for [Start]. It starts
// nothing, and does not know the servers' settings, but refuses those by which the
// server is kept private.
func Parse(text string) (kind string, settings []string, err error) {
	rest, ok := strings.CutPrefix(text, Scheme)
	if !ok {
		return "", nil, fmt.Errorf("dbserver: %q is no private server: %s", text, forms)
	}
	word, query, more := strings.Cut(rest, "?")
	switch word {
	case MySQL, "mariadb":
		kind = MySQL
	case Postgres, "postgresql":
		kind = Postgres
	case "":
		return "", nil, fmt.Errorf("dbserver: %s does not say which server: %s", text, forms)
	default:
		return "", nil, fmt.Errorf("dbserver: unknown private server %q: %s", word, forms)
	}
	if !more {
		return kind, nil, nil
	}
	e, err := engineOf(kind)
	if err != nil {
		return "", nil, err
	}
	for pair := range strings.SplitSeq(query, "&") {
		setting, err := parseSetting(e, pair)
		if err != nil {
			return "", nil, fmt.Errorf("dbserver: %s: setting %q %w", text, pair, err)
		}
		settings = append(settings, setting)
	}
	return kind, settings, nil
}

func parseSetting(e engine, pair string) (string, error) {
	name, escaped, ok := strings.Cut(pair, "=")
	if !ok {
		return "", errors.New("has no value: want NAME=VALUE")
	}
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" || name[0] == '-' {
		return "", errors.New("has no name: want letters, digits, underscores, dots and dashes before the =")
	}
	if e.reserved(name) {
		return "", errors.New("is not yours to set: it keeps the server private")
	}
	value, err := url.PathUnescape(escaped)
	if err != nil {
		return "", fmt.Errorf("has a value that cannot be read: %w; %%25 is a percent sign", err)
	}
	if strings.ContainsRune(value, 0) {
		return "", errors.New("has a value with a zero byte")
	}
	return e.setting(name, value), nil
}
