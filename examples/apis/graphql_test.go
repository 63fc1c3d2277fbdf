package apis_test

import (
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
)

// The scalar ID of GraphQL is a string.
func Example_graphql() {
	list := graphql.Array{sqltype.ID(153652455014400000), graphql.Null}
	list.MarshalGQL(os.Stdout)
	var id sqltype.ID
	err := id.UnmarshalGQL("153652455014400000") // an argument or a variable of a query
	fmt.Println("", id, err)
	// Output: ["153652455014400000",null] 153652455014400000 <nil>
}
