package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/crockford"
	"github.com/snowkey-go/snowkey/publicid"
	"github.com/snowkey-go/snowkey/sqltype"
)

// publicKeysVariable is the environment variable that has the keys of public ids.
const publicKeysVariable = "SNOWKEY_PUBLIC_ID_KEYS"

// publicKeysHelp is said of every command that takes public ids.
const publicKeysHelp = `

Public ids need their keys: a line each of a number, a colon and 64 hexadecimal digits. They are in the file of
--public-id-keys, or else in the environment variable SNOWKEY_PUBLIC_ID_KEYS.`

// kindPublic begins the kind of public ids, before their prefix.
const kindPublic = "public:"

// publicKeys is the file of a flag, "" for the environment variable.
type publicKeys string

// publicKeysFlag adds --public-id-keys to a command, and says in its help what it is for.
func publicKeysFlag(c *cobra.Command) *publicKeys {
	c.Long += publicKeysHelp
	file := c.Flags().String("public-id-keys", "", "file with the keys of public ids")
	_ = c.MarkFlagFilename("public-id-keys") // fails only for a flag that does not exist
	return (*publicKeys)(file)
}

// errNoPublicKeys says that neither the flag nor the variable is there.
var errNoPublicKeys = errors.New("name the file of its keys with --public-id-keys, or set " + publicKeysVariable)

// read returns the keys, or an errNoPublicKeys.
func (k publicKeys) read() ([]publicid.Key, error) {
	switch {
	case k != "":
		return publicid.FromFile(string(k))
	case os.Getenv(publicKeysVariable) == "":
		return nil, errNoPublicKeys
	}
	return publicid.FromEnv(publicKeysVariable)
}

// codec returns the codec of the keys, or an errNoPublicKeys.
func (k publicKeys) codec(options ...publicid.Option) (*publicid.Codec, error) {
	keys, err := k.read()
	if err != nil {
		return nil, err
	}
	return publicid.New(keys, options...)
}

// printPublic prints so many new public ids of a prefix.
func (k publicKeys) printPublic(c *cobra.Command, prefix string, source idgen.Source[int64], n, most int64) error {
	codec, err := k.codec()
	if err == nil {
		_, err = codec.Encode(prefix, 1)
	}
	if err != nil {
		return usageError{fmt.Errorf("--kind %s%s: %w", kindPublic, prefix, err)}
	}
	return printNext(c, source, n, most, func(b []byte, id int64) ([]byte, error) {
		text, err := codec.Encode(prefix, id)
		return append(b, text...), err
	})
}

// prefixed is a text with a prefix, and the digits after it.
type prefixed struct{ text, prefix, digits string }

// cutPrefix returns the parts of a text that may be a public id or a TypeID: a prefix, an underline, and 13 or 26 digits in one case.
func cutPrefix(text string) (p prefixed, ok bool) {
	i := strings.LastIndexByte(text, '_')
	if i < 1 {
		return p, false
	}
	p = prefixed{text, text[:i], text[i+1:]}
	return p, (len(p.digits) == 13 || len(p.digits) == 26) && strings.Trim(p.digits, crockford.Capital) == "" || p.isTypeID()
}

func (p prefixed) isTypeID() bool {
	_, _, err := publicid.ParseTypeID(p.text)
	return err == nil
}

// prefixedLine returns the line that shows a TypeID or a public id.
func (d decoder) prefixedLine(p prefixed) (string, error) {
	if p.isTypeID() {
		if strings.Trim(p.digits, "0123456789") == "" {
			return "", fmt.Errorf("%q is ambiguous: without a letter it can be a TypeID, or a public id of 16 bytes", p.text)
		}
		_, id, err := publicid.ParseTypeID(p.text)
		return d.octetsLine(p, "typeid", id, err)
	}
	codec, err := d.codec(publicid.Accept(publicid.MadeBy(d.layout)))
	if err != nil {
		return "", fmt.Errorf("%q is a public id: %w", p.text, err)
	}
	if len(p.digits) == 26 {
		id, err := codec.DecodeUUID(p.prefix, p.text)
		return d.octetsLine(p, kindPublic+p.prefix, id, err)
	}
	id, err := codec.Decode(p.prefix, p.text)
	if err != nil {
		return "", fmt.Errorf("%w, by these keys and this layout", err)
	}
	begin := "%s  %[4]s  kind=%[2]s number=%[3]d"
	if d.json {
		begin = `{"id":"%s","kind":"%s","number":"%d","time":"%s"`
	}
	return d.partsLine(id, func(made string) string { return fmt.Sprintf(begin, p.text, kindPublic+p.prefix, id, made) })
}

// octetsLine returns the line of a text that stands for 16 bytes.
func (d decoder) octetsLine(p prefixed, kind string, id [16]byte, err error) (string, error) {
	if err != nil {
		return "", err
	}
	key := recognizeUUID(sqltype.UUID(id))
	if key.Holds = key.Kind; !slices.Contains(uuidKinds, key.Kind) {
		key.Holds = "no-uuid"
	}
	key.ID, key.UUID, key.Kind = p.text, key.ID, kind
	return d.wideLine(key)
}
