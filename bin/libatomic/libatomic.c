/*
 * The one function that Node's builds for Linux import from libatomic.so.1, which a bare Debian does not have. bin/node puts this library in
 * its place where the system's is missing. Node calls it with 8 bytes only (V8's table of WebAssembly code pointers).
 *
 * Built, for each architecture, by
 *   gcc -O2 -shared -fPIC -ffreestanding -nostdlib -s -Wl,-soname,libatomic.so.1 -Wl,--version-script=libatomic.map \
 *     -Wl,-z,noseparate-code -Wl,--build-id=none -o x86_64-linux-gnu/libatomic.so.1 libatomic.c
 *   aarch64-linux-gnu-gcc (the same, and -mno-outline-atomics) -o aarch64-linux-gnu/libatomic.so.1 libatomic.c
 */
#include <stdbool.h>
#include <stddef.h>

#define EXCHANGE(type) \
	return __atomic_compare_exchange_n((type *)object, (type *)expected, *(type *)desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

bool atomic_compare_exchange(size_t size, void *object, void *expected, void *desired, int success, int failure) __asm__("__atomic_compare_exchange");

/* The strongest order serves for every order that is asked for (success, failure). */
bool atomic_compare_exchange(size_t size, void *object, void *expected, void *desired, int success, int failure)
{
	(void)success;
	(void)failure;
	switch (size) {
	case 1: EXCHANGE(unsigned char);
	case 2: EXCHANGE(unsigned short);
	case 4: EXCHANGE(unsigned int);
	case 8: EXCHANGE(unsigned long);
	default: __builtin_trap();
	}
}
