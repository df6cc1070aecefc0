// Answers questions with kube-scheduler's own allocator of devices and with the CEL of device selectors, both from
// k8s.io/dynamic-resource-allocation.
//
// Each line of the standard input is a question, each line of the standard output its answer; a first line tells the
// version of the module.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"reflect"
	"runtime/debug"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

const module = "k8s.io/dynamic-resource-allocation"

// An allocation whose order of pools is that of a Go map comes out differently in some of so many runs.
const runs = 8

type question struct {
	Ask string `json:"ask"`

	// A selector.
	Expression string             `json:"expression"`
	Lists      bool               `json:"lists"`
	Driver     string             `json:"driver"`
	Device     resourceapi.Device `json:"device"`

	// An allocation.
	Features       []string                                `json:"features"`
	Nodes          []*corev1.Node                          `json:"nodes"`
	Classes        []*resourceapi.DeviceClass              `json:"classes"`
	Slices         []*resourceapi.ResourceSlice            `json:"slices"`
	Claims         []*resourceapi.ResourceClaim            `json:"claims"`
	Allocated      []string                                `json:"allocatedDevices"`
	AllocatedShare []string                                `json:"allocatedSharedDeviceIDs"`
	Capacity       map[string]map[string]resource.Quantity `json:"allocatedCapacity"`
}

type answer map[string]any

var engines = map[string]func(question) answer{"selector": askSelector, "allocation": askAllocation}

func main() {
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
	info, _ := debug.ReadBuildInfo()
	for _, each := range info.Deps {
		if each.Path == module {
			return answer{module: each.Version}
		}
	}
	return answer{}
}

func askSelector(asked question) answer {
	features := cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: asked.Lists}
	compiled := cel.GetCompiler(features).CompileCELExpression(asked.Expression, cel.Options{})
	if compiled.Error != nil {
		return answer{"compile": compiled.Error.Detail}
	}
	device := cel.Device{
		Driver:                   asked.Driver,
		AllowMultipleAllocations: asked.Device.AllowMultipleAllocations,
		Attributes:               asked.Device.Attributes,
		Capacity:                 asked.Device.Capacity,
	}
	matches, _, err := compiled.DeviceMatches(context.Background(), device)
	if err != nil {
		return answer{"runtime": err.Error(), "cost": compiled.MaxCost}
	}
	return answer{"matches": matches, "cost": compiled.MaxCost}
}

func askAllocation(asked question) answer {
	expected, deterministic := answer{}, answer{}
	for _, node := range asked.Nodes {
		first := allocated(asked, node)
		same := true
		for range runs - 1 {
			same = same && reflect.DeepEqual(plain(first), plain(allocated(asked, node)))
		}
		expected[node.Name], deterministic[node.Name] = first, same
	}
	return answer{"expected": expected, "deterministic": deterministic}
}

func plain(value any) (made any) {
	text, err := json.Marshal(value)
	check(err)
	check(json.Unmarshal(text, &made))
	return made
}

func allocated(asked question, node *corev1.Node) answer {
	on := sets.New(asked.Features...)
	features := structured.Features{
		AdminAccess:            on.Has("DRAAdminAccess"),
		ConsumableCapacity:     on.Has("DRAConsumableCapacity"),
		DeviceBindingAndStatus: on.Has("DRADeviceBindingConditions+DRAResourceClaimDeviceStatus"),
		DeviceTaints:           on.Has("DRADeviceTaints"),
		ListTypeAttributes:     on.Has("DRAListTypeAttributes"),
		PartitionableDevices:   on.Has("DRAPartitionableDevices"),
		PrioritizedList:        on.Has("DRAPrioritizedList"),
	}
	cache := cel.NewCache(64, cel.Features{
		EnableConsumableCapacity: features.ConsumableCapacity,
		EnableListTypeAttributes: features.ListTypeAttributes,
	})
	allocator, err := structured.NewAllocator(context.Background(), features, state(asked), classes(asked.Classes), asked.Slices, cache)
	check(err)
	results, err := allocator.Allocate(context.Background(), node, asked.Claims)
	if err != nil {
		return answer{"error": err.Error()}
	}
	if len(results) == 0 {
		return answer{}
	}
	any := types.UID("any")
	for _, result := range results {
		for place := range result.Devices.Results {
			if result.Devices.Results[place].ShareID != nil {
				result.Devices.Results[place].ShareID = &any
			}
		}
	}
	return answer{"results": results}
}

func state(asked question) structured.AllocatedState {
	made := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, each := range asked.Allocated {
		made.AllocatedDevices.Insert(device(each))
	}
	for _, each := range asked.AllocatedShare {
		share := types.UID(strings.Split(each, "/")[3])
		made.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(device(each), &share))
	}
	for each, amounts := range asked.Capacity {
		consumed := map[resourceapi.QualifiedName]resource.Quantity{}
		for name, amount := range amounts {
			consumed[resourceapi.QualifiedName(name)] = amount
		}
		made.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(device(each), consumed))
	}
	return made
}

func device(text string) structured.DeviceID {
	parts := strings.Split(text, "/")
	return structured.MakeDeviceID(parts[0], parts[1], parts[2])
}

type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	return c, nil
}

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, each := range c {
		if each.Name == name {
			return each, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, "not found")
}
