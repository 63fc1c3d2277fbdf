package apis_test

import (
	"context"
	"fmt"
	"os"

	"github.com/99designs/gqlgen/graphql"

	"github.com/snowkey-go/snowkey/sqltype"
)

// What gqlgen asks of a scalar. In gqlgen.yml:
//
//	models:
//	  ID:
//	    model: github.com/snowkey-go/snowkey/sqltype.ID
var (
	_ graphql.Marshaler   = sqltype.ID(0)
	_ graphql.Unmarshaler = (*sqltype.ID)(nil)
	_ graphql.Marshaler   = sqltype.Key[customer](0)
	_ graphql.Unmarshaler = (*sqltype.Key[customer])(nil)

	_ graphql.ContextMarshaler   = sqltype.PublicID[invoice](0) // which can fail
	_ graphql.ContextUnmarshaler = (*sqltype.PublicID[invoice])(nil)
	_ graphql.ContextMarshaler   = sqltype.PublicUUID[invoice]{}
	_ graphql.ContextUnmarshaler = (*sqltype.PublicUUID[invoice])(nil)
	_ graphql.Marshaler          = sqltype.UUIDKey[customer]{}
	_ graphql.Unmarshaler        = (*sqltype.UUIDKey[customer])(nil)
)

// invoice is a model that the world sees by a public id. In gqlgen.yml, ID's model is the alias: type InvoiceID = sqltype.PublicID[invoice].
type invoice struct{ ID sqltype.PublicID[invoice] }

func (invoice) Prefix() string { return "inv" }

// The scalar ID of GraphQL is a string.
func Example_graphql() {
	list := graphql.Array{sqltype.ID(153652455014400000), graphql.Null}
	list.MarshalGQL(os.Stdout)
	var id sqltype.ID
	err := id.UnmarshalGQL("153652455014400000") // an argument or a variable of a query
	fmt.Println("", id, err)
	// Output: ["153652455014400000",null] 153652455014400000 <nil>
}

// Without a secret a public id is an error of its field, and null, never the number.
func Example_graphqlPublicID() {
	ctx := graphql.WithResponseContext(context.Background(), graphql.DefaultErrorPresenter, graphql.DefaultRecover)
	graphql.WrapContextMarshaler(ctx, sqltype.PublicID[invoice](153652455014400000)).MarshalGQL(os.Stdout)
	fmt.Println("", len(graphql.GetErrors(ctx)))
	// Output: null 1
}
