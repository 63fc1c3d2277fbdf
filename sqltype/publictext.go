package sqltype

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"sync/atomic"
)

// What PublicID and PublicUUID have in common is here: the codec of the process, and what JSON and others make of a public id.

// PublicCodec makes public ids of numbers above 0 and of keys of 16 bytes, and reads them, for any prefix. It must be safe for concurrent use. The Codec of package
// publicid is one, and its TypeIDs is one of UUIDs alone. One of your own may ask another codec for each prefix.
type PublicCodec interface {
	Encode(prefix string, id int64) (string, error)
	Decode(prefix, text string) (int64, error)
	EncodeUUID(prefix string, id [16]byte) (string, error)
	DecodeUUID(prefix, text string, versions ...int) ([16]byte, error) // called without versions
}

// publicCodec is read and replaced atomically.
var publicCodec atomic.Pointer[PublicCodec]

// UsePublicIDs has all PublicIDs and PublicUUIDs of the process converted by a codec, from now on. A program calls it once when it starts, before the first request,
// and again to replace a secret. nil takes the codec away. It is safe for concurrent use.
func UsePublicIDs(codec PublicCodec) { publicCodec.Store(&codec) }

// publicCodecOf returns the codec, and the prefix of a type.
func publicCodecOf[T interface{ Prefix() string }]() (codec PublicCodec, prefix string, err error) {
	used := publicCodec.Load()
	if used == nil || *used == nil {
		return nil, "", ErrNoSecret
	}
	switch of := reflect.TypeFor[T](); of.Kind() {
	case reflect.Interface: // has no method to call, and the codec refuses no prefix
		return *used, "", nil
	case reflect.Pointer:
		return *used, reflect.New(of.Elem()).Interface().(T).Prefix(), nil
	}
	var model T
	return *used, model.Prefix(), nil
}

// publicString is the text of an id, or what stands for one that has none.
func publicString(text string, err error) string {
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return text
}

// publicJSON gives a string, and null for no text.
func publicJSON(text string, err error) ([]byte, error) {
	switch {
	case err != nil:
		return nil, err
	case text == "":
		return []byte("null"), nil
	}
	return json.Marshal(text)
}

func writePublicJSON(w io.Writer, text string, err error) error {
	data, err := publicJSON(text, err)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// unmarshalPublicJSON takes a string, or null, which changes nothing.
func unmarshalPublicJSON(data []byte, set func(string) error) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%w: want a public id in a string: %w", ErrSyntax, err)
	}
	return set(text)
}

func unmarshalPublicGQL(value any, set func(string) error) error {
	switch value := value.(type) {
	case string:
		return set(value)
	case nil:
		return ErrNull
	}
	return fmt.Errorf("%w: %T, want a public id in a string", ErrSyntax, value)
}
