package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/snowkey-go/snowkey/gormplugin"
	"github.com/snowkey-go/snowkey/sqltype"
)

// The limits of a request.
const (
	longestBody = 1 << 20 // bytes
	longestPage = 100     // orders
)

// inputError is an error in a request. Its text is sent to the caller.
type inputError struct{ error }

// shop answers requests.
type shop struct {
	db     *gorm.DB
	plugin *gormplugin.Plugin
}

func (s shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /customers", answer(s.saveCustomer))
	mux.HandleFunc("POST /orders", answer(s.createOrder))
	mux.HandleFunc("GET /orders/{id}", answer(s.order))
	mux.HandleFunc("GET /orders", answer(s.orders))
	mux.HandleFunc("GET /ready", s.ready)
	return mux
}

// saveCustomer creates a customer, or renames the one who has the email. Either way the answer has the key of the row.
func (s shop) saveCustomer(r *http.Request) (any, error) {
	var c Customer
	if err := read(r, &c); err != nil {
		return nil, err
	}
	if c.ID != 0 || c.Email == "" {
		return nil, inputError{errors.New("want an email, and no id")}
	}
	upsert := clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
	return &c, s.db.WithContext(r.Context()).Clauses(upsert).Create(&c).Error
}

// createOrder creates an order with its lines, which takes the keys of all of them.
func (s shop) createOrder(r *http.Request) (any, error) {
	var o Order
	if err := read(r, &o); err != nil {
		return nil, err
	}
	if o.ID != 0 || o.Customer != nil || o.CustomerID == 0 || len(o.Lines) == 0 {
		return nil, inputError{errors.New("want a customer_id and lines, and no id")}
	}
	for _, l := range o.Lines {
		if l.ID != 0 {
			return nil, inputError{errors.New("want lines without ids")}
		}
	}
	err := s.db.WithContext(r.Context()).Create(&o).Error
	if errors.Is(err, gorm.ErrForeignKeyViolated) {
		return nil, inputError{errors.New("there is no such customer")}
	}
	return &o, err
}

func (s shop) order(r *http.Request) (any, error) {
	id, err := sqltype.ParseKey[Order](r.PathValue("id"))
	if err != nil {
		return nil, inputError{err}
	}
	var o Order
	return &o, s.db.WithContext(r.Context()).Preload("Customer").Preload("Lines").First(&o, "id = ?", id).Error
}

// page is a page of orders, the newest first.
type page struct {
	Orders []Order             `json:"orders"`
	Next   *sqltype.Key[Order] `json:"next"` // what before is for the next page; null on the last one
}

// orders reads a page: of all orders, or of those that were made from a time on and before another.
func (s shop) orders(r *http.Request) (any, error) {
	query := r.URL.Query()
	limit, before := 20, sqltype.Key[Order](0)
	var err error
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > longestPage {
			return nil, inputError{errors.New("want a limit from 1 to 100")}
		}
	}
	if text := query.Get("before"); text != "" {
		if before, err = sqltype.ParseKey[Order](text); err != nil {
			return nil, inputError{err}
		}
	}
	scopes := []func(*gorm.DB) *gorm.DB{gormplugin.Before(before)}
	for name, scope := range map[string]func(time.Time) func(*gorm.DB) *gorm.DB{"from": gormplugin.CreatedAfter, "to": gormplugin.CreatedBefore} {
		if text := query.Get(name); text != "" {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return nil, inputError{err}
			}
			scopes = append(scopes, scope(at))
		}
	}
	p := page{Orders: []Order{}}
	if err := s.db.WithContext(r.Context()).Scopes(scopes...).Preload("Lines").Limit(limit).Find(&p.Orders).Error; err != nil {
		return nil, err
	}
	if len(p.Orders) == limit {
		p.Next = &p.Orders[limit-1].ID
	}
	return p, nil
}

// ready tells a load balancer whether creates will succeed: the process has a node number, and its grant has not ended.
func (s shop) ready(w http.ResponseWriter, _ *http.Request) {
	if state := s.plugin.Keeper().State(); !state.Held {
		http.Error(w, "no node number", http.StatusServiceUnavailable)
	}
}

// read reads the body of a request.
func read(r *http.Request, to any) error {
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, longestBody)).Decode(to); err != nil {
		return inputError{err}
	}
	return nil
}

// answer writes what a function returns as JSON, or its error as a status.
func answer(of func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := of(r)
		var input inputError
		switch {
		case errors.As(err, &input):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case errors.Is(err, gorm.ErrRecordNotFound):
			http.Error(w, "not found", http.StatusNotFound)
		case err != nil:
			slog.ErrorContext(r.Context(), "request failed", "path", r.URL.Path, "error", err)
			http.Error(w, "internal error", http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusCreated)
			}
			_ = json.NewEncoder(w).Encode(value) // the caller may be gone
		}
	}
}
