// Answers questions in the languages of stages with the engines that KWOK uses, set up as KWOK sets them up.
//
// Each line of the standard input is a question {"language", "text", "data"}; each line of the standard output is its
// answer, in the form of tests/languages/facts. A first line tells which versions answer.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/itchyny/gojq"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	kwokcel "sigs.k8s.io/kwok/pkg/utils/cel"
	"sigs.k8s.io/kwok/pkg/utils/expression"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/yaml"
)

type question struct {
	Language string          `json:"language"`
	Text     string          `json:"text"`
	Data     json.RawMessage `json:"data"`
}

type answer map[string]any

var engines = map[string]func(question) answer{"jq": askJq, "templates": askTemplate, "yaml": askYaml, "cel": askCel}

func main() {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	out.Encode(versions())
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var asked question
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(engines[asked.Language](asked)); err != nil {
			log.Fatalf("%s: %v", asked.Text, err)
		}
	}
}

func versions() answer {
	found := answer{"text/template": strings.TrimPrefix(runtime.Version(), "go")}
	names := map[string]string{
		"sigs.k8s.io/kwok": "kwok", "github.com/itchyny/gojq": "gojq", "github.com/google/cel-go": "cel-go",
		"github.com/Masterminds/sprig/v3": "sprig", "sigs.k8s.io/yaml": "sigs.k8s.io/yaml",
	}
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if name, ok := names[module.Path]; ok {
			found[name] = module.Version
		}
	}
	return found
}

// The compiled query runs itself, since KWOK's Query keeps errors to itself.
func askJq(asked question) answer {
	parsed, err := gojq.Parse(asked.Text)
	if err != nil {
		return answer{"refused": err.Error()}
	}
	code, err := gojq.Compile(parsed)
	if err != nil {
		return answer{"refused": err.Error()}
	}
	data, err := expression.ToJSONStandard(asked.Data)
	if err != nil {
		log.Fatal(err)
	}
	outputs := []any{}
	for steps := code.Run(data); ; {
		value, more := steps.Next()
		if !more {
			return answer{"outputs": outputs}
		}
		if err, failed := value.(error); failed {
			return answer{"outputs": outputs, "error": err.Error()}
		}
		outputs = append(outputs, shown(value))
	}
}

// Numbers that JSON cannot carry, or that still are the text they came from, are told with their sort.
func shown(value any) any {
	switch v := value.(type) {
	case json.Number:
		return answer{"$number": v.String()}
	case float64:
		if math.IsNaN(v) {
			return answer{"$float": "NaN"}
		}
		if math.IsInf(v, 0) {
			return answer{"$float": fmt.Sprintf("%+v", v)}
		}
		return answer{"$double": v}
	case []any:
		made := make([]any, len(v))
		for i, each := range v {
			made[i] = shown(each)
		}
		return made
	case map[string]any:
		made := answer{}
		for name, each := range v {
			made[name] = shown(each)
		}
		return made
	}
	return value
}

var renderer = gotpl.NewRenderer(gotpl.FuncMap{
	"Now":      func() string { return "2026-01-02T03:04:05.123456Z" },
	"NodeIP":   func() string { return "10.0.0.1" },
	"NodePort": func() int { return 10250 },
})

func askTemplate(asked question) answer {
	text, err := renderer.ToText(asked.Text, asked.Data)
	switch {
	case err == nil:
		return answer{"gives": string(text)}
	case strings.HasPrefix(err.Error(), "build template"):
		return answer{"refused": true}
	}
	return answer{"fails": true}
}

func askYaml(asked question) answer {
	made, err := yaml.YAMLToJSON([]byte(asked.Text))
	if err != nil {
		return answer{"fails": true}
	}
	return answer{"json": string(made)}
}

func askCel(asked question) answer {
	// As an unstructured object is read: whole numbers are integers.
	var self map[string]any
	if err := kubejson.Unmarshal(asked.Data, &self); err != nil {
		log.Fatal(err)
	}
	environment, err := kwokcel.NewEnvironment(kwokcel.EnvironmentConfig{
		Types:       kwokcel.DefaultTypes,
		Conversions: kwokcel.DefaultConversions,
		Methods:     maps.Clone(kwokcel.FuncsToMethods(kwokcel.DefaultFuncs)),
		Funcs:       kwokcel.DefaultFuncs,
		Vars:        map[string]any{"self": self},
	})
	if err != nil {
		log.Fatal(err)
	}
	program, err := environment.Compile(asked.Text)
	if err != nil {
		return answer{"refused": true}
	}
	value, _, err := program.Eval(map[string]any{"self": self})
	if err != nil {
		return answer{"fails": true}
	}
	made := answer{"type": value.Type().TypeName()}
	if told, ok := plain(value); ok {
		made["value"] = told
	}
	return made
}

// What a value is, where it has a simple form.
func plain(value ref.Val) (any, bool) {
	switch v := value.(type) {
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Sprint(float64(v)), true
		}
		return answer{"$double": float64(v)}, true
	case types.Int, types.Uint, types.Bool, types.String:
		return v.Value(), true
	case types.Duration:
		return v.Duration.Nanoseconds(), true
	case types.Timestamp:
		return v.Time.Format("2006-01-02T15:04:05.999999999Z07:00"), true
	case kwokcel.Quantity:
		return v.Quantity.String(), true
	}
	return nil, false
}
