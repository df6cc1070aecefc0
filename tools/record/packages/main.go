// Answers questions with Kubernetes' own packages: how an object is printed in a table, how it is encoded in protobuf,
// whether an OpenAPI document is encoded right.
//
// Each line of the standard input is a question, each line of the standard output its answer; a first line tells the
// versions of the packages.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"log"
	"os"
	"reflect"
	"runtime/debug"
	"time"

	openapi "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	protobuf "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apiserver/pkg/registry/rest"
	aggregator "k8s.io/kube-aggregator/pkg/apis/apiregistration"
	aggregatorv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiservices "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"
	"sigs.k8s.io/yaml"
)

type question struct {
	Ask      string                                         `json:"ask"`
	Object   json.RawMessage                                `json:"object"`
	Document json.RawMessage                                `json:"document"`
	Encoded  []byte                                         `json:"encoded"`
	Now      int64                                          `json:"now"`
	Columns  []apiextensions.CustomResourceColumnDefinition `json:"columns"`
}

type answer map[string]any

var engines = map[string]func(question) answer{"table": print, "protobuf": encode, "gnostic": document}

func main() {
	check(apiextensions.AddToScheme(legacyscheme.Scheme))
	check(aggregator.AddToScheme(legacyscheme.Scheme))
	check(aggregatorv1.AddToScheme(legacyscheme.Scheme))
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	check(out.Encode(versions()))
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<22)
	for in.Scan() {
		var asked question
		check(json.Unmarshal(in.Bytes(), &asked))
		check(out.Encode(engines[asked.Ask](asked)))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func versions() answer {
	found := answer{}
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		switch module.Path {
		case "k8s.io/kubernetes":
			found["kubernetes"] = module.Version
		case "github.com/google/gnostic-models":
			found["gnostic-models"] = module.Version
		}
	}
	return found
}

func print(asked question) answer {
	kind := kindOf(asked.Object)
	// The object gets as old as it was.
	span := time.Since(time.UnixMicro(asked.Now))
	moved := movedBy(asked.Object, span)
	if asked.Columns != nil {
		convertor, err := tableconvertor.New(asked.Columns)
		check(err)
		object := &unstructured.Unstructured{}
		check(object.UnmarshalJSON(moved))
		made := told(convertor.ConvertToTable(context.TODO(), object, nil))
		// A column may show a time as it is.
		made["cells"] = shifted(made["cells"], -span)
		return made
	}
	if kind.Group == "apiregistration.k8s.io" {
		return told((&apiservices.REST{}).ConvertToTable(context.TODO(), decoded(moved), nil))
	}
	generator := printers.NewTableGenerator().With(printersinternal.AddHandlers)
	table, err := generator.GenerateTable(decoded(moved), printers.GenerateOptions{Wide: true})
	if err != nil || kind.Kind == "CSIStorageCapacity" {
		// Kinds without a printer, and this one, whose storage does not use it, show when they were made.
		plain := rest.NewDefaultTableConvertor(schema.GroupResource{})
		return told(plain.ConvertToTable(context.TODO(), decoded(asked.Object), nil))
	}
	return told(table, nil)
}

func told(table *metav1.Table, err error) answer {
	check(err)
	columns := [][]any{}
	for _, each := range table.ColumnDefinitions {
		columns = append(columns, []any{each.Name, each.Type, each.Format, each.Priority})
	}
	row := table.Rows[0]
	made := answer{"columns": columns, "cells": row.Cells}
	if row.Conditions != nil {
		made["conditions"] = row.Conditions
	}
	return made
}

func kindOf(data []byte) schema.GroupVersionKind {
	var meta metav1.TypeMeta
	check(json.Unmarshal(data, &meta))
	return meta.GroupVersionKind()
}

// The object in its internal form, which is the one that is printed, or as it is for kinds that have none.
func decoded(data []byte) runtime.Object {
	object, _, err := legacyscheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		object, _, err = legacyscheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	}
	check(err)
	return object
}

// The object with all its times moved.
func movedBy(data []byte, span time.Duration) []byte {
	var value any
	reader := json.NewDecoder(bytes.NewReader(data))
	reader.UseNumber()
	check(reader.Decode(&value))
	made, err := json.Marshal(shifted(value, span))
	check(err)
	return made
}

func shifted(value any, span time.Duration) any {
	switch v := value.(type) {
	case map[string]any:
		for name, each := range v {
			v[name] = shifted(each, span)
		}
	case []any:
		for number, each := range v {
			v[number] = shifted(each, span)
		}
	case string:
		if moment, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return moment.Add(span).UTC().Round(time.Microsecond).Format(time.RFC3339Nano)
		}
	}
	return value
}

func encode(asked question) answer {
	object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(asked.Object, nil, nil)
	check(err)
	var out bytes.Buffer
	check(protobuf.NewSerializer(legacyscheme.Scheme, legacyscheme.Scheme).Encode(object, &out))
	return answer{"body": out.Bytes()}
}

// Whether gnostic reads the same from a document and from our encoding of it.
func document(asked question) answer {
	parsed, err := openapi.ParseDocument(asked.Document)
	check(err)
	read := &openapi.Document{}
	check(proto.Unmarshal(asked.Encoded, read))
	return answer{"read_as_the_document": reflect.DeepEqual(meaning(parsed), meaning(read))}
}

func meaning(message proto.Message) any {
	text, err := protojson.Marshal(message)
	check(err)
	var value any
	check(json.Unmarshal(text, &value))
	return parsedInside(value)
}

// Values of extensions are YAML, which can be written in more than one way.
func parsedInside(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, each := range v {
			if text, is := each.(string); is && name == "yaml" {
				var inner any
				check(yaml.Unmarshal([]byte(text), &inner))
				v[name] = inner
			} else {
				v[name] = parsedInside(each)
			}
		}
	case []any:
		for number, each := range v {
			v[number] = parsedInside(each)
		}
	}
	return value
}
