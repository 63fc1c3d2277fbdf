package grant_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/idgen/grant"
)

// Two processes, and a store that both reach; in an application that is grant.SQL(db, grant.Postgres), for instance.
func ExampleOpen() {
	ctx, store := context.Background(), grant.Memory(nil)
	for _, process := range []string{"web-1", "web-2"} {
		keys, err := grant.Open(ctx, store, grant.Config{Name: process})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer keys.Close() // gives the number back
		id, err := keys.Next(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		parts, err := keys.Layout().Decode(id)
		fmt.Println(process, "has number", parts.Node, err)
	}
	// Output:
	// web-1 has number 0 <nil>
	// web-2 has number 1 <nil>
}

// A number that is set by hand, and that a second process was given by mistake.
func ExampleConfig_givenNumber() {
	ctx, store := context.Background(), grant.Memory(nil)
	config := grant.Config{Generator: []idgen.Option{idgen.WithNode(7)}}
	keys, err := grant.Open(ctx, store, config)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer keys.Close()
	_, err = grant.Open(ctx, store, config)
	var taken *grant.TakenError
	fmt.Println(errors.As(err, &taken), taken.Held, "of", taken.Of)
	// Output:
	// true 1 of 1
}
