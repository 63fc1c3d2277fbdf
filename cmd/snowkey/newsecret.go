package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/publicid"
)

func newSecret() *cobra.Command {
	c := &cobra.Command{
		Use:   "secret",
		Short: "Print a new secret for public ids",
		Long: `Print a new key of public ids, which is a secret, as a line of the file that has them.

Its number is 1, or the one after the greatest of the keys that are there. Two keys can be there at a time:
before a third one, take out the line of the first.`,
		Example: `  (umask 077 && snowkey secret > public-id-keys)
  snowkey secret --public-id-keys public-id-keys >> public-id-keys`,
		Args: cobra.NoArgs,
	}
	keys := publicKeysFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		line, err := keys.newLine()
		if err != nil {
			return usageError{err}
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), line)
		return err
	}
	return c
}

// newLine returns the text of a new key, which goes with those that are there.
func (k publicKeys) newLine() (string, error) {
	all, err := k.read()
	if errors.Is(err, errNoPublicKeys) {
		return publicid.NewKey(1), nil
	}
	if err != nil {
		return "", err
	}
	greatest := uint32(0)
	for _, key := range all {
		greatest = max(greatest, key.Number())
	}
	if greatest == math.MaxUint32 {
		return "", fmt.Errorf("no number is above %d, which one of the keys has", greatest)
	}
	line := publicid.NewKey(greatest + 1)
	made, err := publicid.ParseKeys(line)
	if err == nil {
		_, err = publicid.New(append(all, made...))
	}
	return line, err
}
