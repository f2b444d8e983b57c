// Protogen generates the Go code for a proto file with the plugins in tools/protogen/go.mod. It
// needs neither protoc nor a network. The arguments are a folder and a file relative to it, as
// in protogen transport/internal/wirepb fedpvi.proto. The code is written beside the proto file.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/gofeaturespb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: protogen FOLDER FILE")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func generate(folder, name string) error {
	request, err := compile(folder, name)
	if err != nil {
		return err
	}
	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := run(plugin, folder, request); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	return nil
}

// compile parses a file and its imports, and returns the request that protoc would send to a
// plugin.
func compile(folder, name string) ([]byte, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{ImportPaths: []string{folder}},
			goFeatures,
		},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), name)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name},
		Parameter:      proto.String("paths=source_relative"),
	}
	addAfterImports(request, map[string]bool{}, files[0])
	return proto.Marshal(request)
}

// goFeatures resolves the import of go_features.proto, which protocompile does not contain.
var goFeatures = protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
	if file := gofeaturespb.File_google_protobuf_go_features_proto; path == file.Path() {
		return protocompile.SearchResult{Desc: file}, nil
	}
	standard := protocompile.WithStandardImports(protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
		return protocompile.SearchResult{}, fmt.Errorf("%s: not found", path)
	}))
	return standard.FindFileByPath(path)
})

func addAfterImports(request *pluginpb.CodeGeneratorRequest, done map[string]bool, file protoreflect.FileDescriptor) {
	if done[file.Path()] {
		return
	}
	done[file.Path()] = true
	for i := range file.Imports().Len() {
		addAfterImports(request, done, file.Imports().Get(i).FileDescriptor)
	}
	request.ProtoFile = append(request.ProtoFile, descriptor(file))
}

func descriptor(file protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
	if result, ok := file.(linker.Result); ok {
		return result.FileDescriptorProto()
	}
	return protoutil.ProtoFromFileDescriptor(file)
}

func run(plugin, folder string, request []byte) error {
	command := exec.Command("go", "tool", plugin)
	command.Stdin, command.Stderr = bytes.NewReader(request), os.Stderr
	output, err := command.Output()
	if err != nil {
		return err
	}
	response := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(output, response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s", response.GetError())
	}
	for _, file := range response.File {
		if err := os.WriteFile(filepath.Join(folder, file.GetName()), []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
