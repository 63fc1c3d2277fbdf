package apis_test

import (
	"fmt"

	"github.com/go-playground/validator/v10"

	"github.com/snowkey-go/snowkey/sqltype"
)

// validator knows a key by its kind, int64: required is "not 0", gt=0 also refuses negative ones. omitempty lets 0 pass, and dive looks into slices.
func Example_validator() {
	type form struct {
		Customer sqltype.ID   `validate:"required,gt=0"`
		Coupon   sqltype.ID   `validate:"omitempty,gt=0"`
		Products []sqltype.ID `validate:"required,unique,dive,gt=0"`
	}
	check := validator.New()
	good := form{Customer: 153652455014400000, Products: []sqltype.ID{153652455014400001}}
	fmt.Println(check.Struct(good))
	fmt.Println(check.Struct(form{Coupon: -1, Products: []sqltype.ID{1, 1}}))
	// Output:
	// <nil>
	// Key: 'form.Customer' Error:Field validation for 'Customer' failed on the 'required' tag
	// Key: 'form.Coupon' Error:Field validation for 'Coupon' failed on the 'gt' tag
	// Key: 'form.Products' Error:Field validation for 'Products' failed on the 'unique' tag
}

// A field that is a text as the browser sent it is checked by the parser itself, so that "007" and "+7" are refused.
func Example_validatorText() {
	check := validator.New()
	err := check.RegisterValidation("key", func(field validator.FieldLevel) bool {
		id, err := sqltype.ParseID(field.Field().String())
		return err == nil && id > 0
	})
	if err != nil {
		fmt.Println(err)
	}
	type form struct {
		Customer string `validate:"required,key"`
	}
	for _, text := range []string{"153652455014400000", "007", "-1", "9223372036854775808"} {
		fmt.Println(text, check.Struct(form{text}) == nil)
	}
	// Output:
	// 153652455014400000 true
	// 007 false
	// -1 false
	// 9223372036854775808 false
}
