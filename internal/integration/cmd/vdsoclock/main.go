//go:build linux && amd64

// Command vdsoclock moves the wall clock of process 1, of the container that it runs in,
// by whole seconds:
//
//	vdsoclock -3600     # an hour back
//
// It is for servers in Go, which read the clock without the C library: they call code that
// the kernel maps into each process, the vDSO. Its clock_gettime is made to ask the kernel
// by a system call, and to add the shift to what it says of the wall clock. The monotonic
// clock is left alone, as it would be by an NTP step or an operator.
package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
)

// code is the new clock_gettime. The shift is behind it.
var code = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov $228, %eax: clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test %edi, %edi: CLOCK_REALTIME is 0
	0x75, 0x0a, // jne to the ret
	0x48, 0x8b, 0x0d, 4, 0, 0, 0, // mov shift(%rip), %rcx
	0x48, 0x01, 0x0e, // add %rcx, (%rsi): the seconds
	0xc3, // ret
}

const (
	jump     = 0xe9 // and how far, in four bytes
	jumpSize = 5
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("vdsoclock: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: vdsoclock SECONDS")
	}
	shift, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err == nil {
		err = move(1, shift)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// move shifts the clock of a process.
func move(pid int, shift int64) error {
	from, to, err := mapped(pid)
	if err != nil {
		return err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	image := make([]byte, to-from)
	if _, err := mem.ReadAt(image, from); err != nil {
		return err
	}
	entry, err := symbol(image, "__vdso_clock_gettime")
	if err != nil {
		return err
	}
	if at := entry + jumpSize; image[entry] == jump { // it was moved before
		stub := at + int64(int32(binary.LittleEndian.Uint32(image[entry+1:])))
		_, err = mem.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(shift)), from+stub+int64(len(code)))
		return err
	}
	stub := int64(len(bytes.TrimRight(image, "\x00"))+63) &^ 15 // the rest of the last page
	text := binary.LittleEndian.AppendUint64(bytes.Clone(code), uint64(shift))
	if stub+int64(len(text)) > int64(len(image)) {
		return errors.New("no room in the vDSO")
	}
	if _, err := mem.WriteAt(text, from+stub); err != nil {
		return err
	}
	// A thread that is within these five bytes at this moment ends the process. None was seen to be.
	_, err = mem.WriteAt(binary.LittleEndian.AppendUint32([]byte{jump}, uint32(stub-entry-jumpSize)), from+entry)
	return err
}

// mapped returns where a process has its vDSO.
func mapped(pid int) (from, to int64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, "[vdso]\n") {
			_, err := fmt.Sscanf(line, "%x-%x", &from, &to)
			return from, to, err
		}
	}
	return 0, 0, errors.New("no vDSO")
}

// symbol returns where a function is in an image.
func symbol(image []byte, name string) (int64, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		if s.Name == name {
			return int64(s.Value), nil
		}
	}
	return 0, fmt.Errorf("no %s in the vDSO", name)
}
