package plan

import "errors"

// Text returns the plan as people read it: SQL in order, with each step's lock, algorithm, estimates and what undoes it in comments, and at the end
// the plan as JSON in comments, which is what Parse reads. Everything but that JSON is made from it, so Parse notices any change.
func (p *Plan) Text() ([]byte, error) { return nil, errors.ErrUnsupported }

// Hash returns the SHA-256 of the plan's JSON in hexadecimal.
func (p *Plan) Hash() (string, error) { return "", errors.ErrUnsupported }

// Parse reads what Text has written. The error wraps [ErrText], or [ErrChanged] when it is not byte for byte what Text writes.
func Parse(text []byte) (*Plan, error) { return nil, errors.ErrUnsupported }
