package strategy

import (
	"context"
	"fmt"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/publicid"
)

// public is snowkey with what its public ids cost beside the database: each key is written as one and read again.
func public() Strategy {
	info := snowkey().Info()
	info.Name = "snowkey-public"
	info.About = "Keys of snowkey that the world sees as public ids, such as ord_JYZTXD6H1EXM9, by package publicid: each key is encrypted once, for the answer " +
		"with the new row, and decrypted once, for a request. In the database all is as with snowkey."
	info.Needs += "; a secret that all processes share"
	info.Cost += "; without the secret no public id can be read"
	info.Decodes = "nothing, without the secret"
	info.Guess = "nothing: a guess is refused, or stands for one of 2^63 numbers"
	return New(info, func(ctx context.Context, at Environment) (idgen.Source[int64], error) {
		keys, err := publicid.ParseKeys(publicid.NewKey(1))
		if err != nil {
			return nil, err
		}
		var options []publicid.Option
		if at.Clock == nil { // of another clock the keys may be of times to come
			options = append(options, publicid.Accept(publicid.MadeBy(idgen.Snowkey.Layout)))
		}
		codec, err := publicid.New(keys, options...)
		if err != nil {
			return nil, err
		}
		made, err := at.granted(ctx, "public_nodes", idgen.Snowkey)
		if err != nil {
			return nil, err
		}
		return publicKeys{made, codec}, nil
	})
}

// publicKeys makes the public id of each key, and reads it.
type publicKeys struct {
	source idgen.Source[int64]
	codec  *publicid.Codec
}

func (p publicKeys) Next(ctx context.Context) (int64, error) {
	key, err := p.source.Next(ctx)
	if err == nil {
		err = p.show(key)
	}
	return key, err
}

func (p publicKeys) Fill(ctx context.Context, keys []int64) error {
	if err := p.source.Fill(ctx, keys); err != nil {
		return err
	}
	for _, key := range keys {
		if err := p.show(key); err != nil {
			return err
		}
	}
	return nil
}

func (p publicKeys) show(key int64) error {
	text, err := p.codec.Encode("ord", key)
	if err != nil {
		return err
	}
	back, err := p.codec.Decode("ord", text)
	if err == nil && back != key {
		err = fmt.Errorf("%w: %s of %d is read as %d", errKey, text, key, back)
	}
	return err
}

// Close gives the node number back.
func (p publicKeys) Close() error { return closed(p.source) }
