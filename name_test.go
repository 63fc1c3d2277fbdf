package snowkey_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// folders are where the packages are that documents name as Go does, grant.Open for one.
var folders = map[string]string{
	"check": "migrate/check", "compare": "compare", "ddl": "shard/ddl", "gormplugin": "gormplugin", "grant": "idgen/grant", "granttest": "idgen/grant/granttest", "idgen": "idgen",
	"migrate": "migrate", "monitor": "monitor", "partition": "shard/partition", "shard": "shard", "sqltype": "sqltype", "ticket": "ticket",
}

var (
	inlineCode    = regexp.MustCompile("`[^`\n]+`")
	qualifiedName = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*(?:\.[A-Z]\w*)?)`)
)

// TestNames looks for each exported name that a document mentions, so that none is left behind when it gets another one.
func TestNames(t *testing.T) {
	exported := map[string]map[string]bool{}
	for _, page := range append(pages(t), "CHANGELOG.md") {
		for _, code := range inlineCode.FindAllString(fence.ReplaceAllString(read(t, page), ""), -1) {
			for _, m := range qualifiedName.FindAllStringSubmatch(code, -1) {
				folder, ok := folders[m[1]]
				if !ok {
					continue
				}
				if exported[folder] == nil {
					exported[folder] = exportedNames(t, folder)
				}
				if of, _, _ := strings.Cut(m[2], "."); !exported[folder][m[2]] && !exported[folder][of+"."] {
					t.Errorf("%s: %s: there is no %s", page, code, m[0])
				}
			}
		}
	}
}

// exportedNames returns the names of a package; of methods and fields with the type, Config.Space for one.
func exportedNames(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = receiver(d.Recv.List[0].Type) + "." + name
				}
				names[name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = true
						if of, ok := s.Type.(*ast.StructType); ok {
							for _, field := range of.Fields.List {
								for _, name := range field.Names {
									names[s.Name.Name+"."+name.Name] = true
								}
							}
						}
					case *ast.ValueSpec:
						for _, name := range s.Names {
							names[name.Name], names[name.Name+"."] = true, true // and what its type has
						}
					}
				}
			}
		}
	}
	return names
}

// receiver returns the name of a method's type.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

var flagName = regexp.MustCompile(`(?:^|[ ` + "`" + `])--([a-z][a-z-]*)`)

// TestFlags looks for each flag that a document mentions among those of the command.
func TestFlags(t *testing.T) {
	files, err := filepath.Glob("cmd/snowkey/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("the command has no files: %v", err)
	}
	var sources strings.Builder
	for _, path := range files {
		sources.WriteString(read(t, path))
	}
	for _, page := range append(pages(t), "CHANGELOG.md") {
		for _, code := range inlineCode.FindAllString(fence.ReplaceAllString(read(t, page), ""), -1) {
			for _, m := range flagName.FindAllStringSubmatch(code, -1) {
				name := strings.TrimSuffix(m[1], "-file") // many flags have a twin that reads a file
				if !strings.Contains(sources.String(), `"`+name+`"`) && name != "help" && name != "version" {
					t.Errorf("%s: %s: the command has no flag --%s", page, code, m[1])
				}
			}
		}
	}
}
