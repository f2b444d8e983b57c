#include "textflag.h"

// func encryptsPairs() bool
TEXT ·encryptsPairs(SB), NOSPLIT, $0-1
	MOVL $7, AX
	XORL CX, CX
	CPUID
	SHRL $9, CX
	ANDL $1, CX
	MOVB CX, ret+0(FP)
	RET

// FOLD adds to every word of a round key those before it, and what X2 holds.
#define FOLD(key) \
	VPSLLDQ $4, key, X4   \
	VPXOR   X4, key, key  \
	VPSLLDQ $4, X4, X4    \
	VPXOR   X4, key, key  \
	VPSLLDQ $4, X4, X4    \
	VPXOR   X4, key, key  \
	VPXOR   X2, key, key

// EVEN and ODD make the next round key (FIPS 197, section 5.2, for keys of eight words).
#define EVEN(constant, at) \
	VAESKEYGENASSIST $constant, X3, X2 \
	VPSHUFD          $0xff, X2, X2     \
	FOLD(X1)                           \
	VMOVDQU          X1, at(DI)

#define ODD(at) \
	VAESKEYGENASSIST $0, X1, X2    \
	VPSHUFD          $0xaa, X2, X2 \
	FOLD(X3)                       \
	VMOVDQU          X3, at(DI)

// func expandKey(keys *[rounds + 1][16]byte, key *[KeySize]byte)
TEXT ·expandKey(SB), NOSPLIT, $0-16
	MOVQ    keys+0(FP), DI
	MOVQ    key+8(FP), SI
	VMOVDQU (SI), X1
	VMOVDQU 16(SI), X3
	VMOVDQU X1, (DI)
	VMOVDQU X3, 16(DI)
	EVEN(0x01, 32)
	ODD(48)
	EVEN(0x02, 64)
	ODD(80)
	EVEN(0x04, 96)
	ODD(112)
	EVEN(0x08, 128)
	ODD(144)
	EVEN(0x10, 160)
	ODD(176)
	EVEN(0x20, 192)
	ODD(208)
	EVEN(0x40, 224)
	VPXOR X1, X1, X1
	VPXOR X2, X2, X2
	VPXOR X3, X3, X3
	VPXOR X4, X4, X4
	RET

// Bytes of a block in reverse: counters are big-endian.
DATA reverse<>+0(SB)/8, $0x08090a0b0c0d0e0f
DATA reverse<>+8(SB)/8, $0x0001020304050607
GLOBL reverse<>(SB), RODATA|NOPTR, $16

// What is added to the counters of two blocks, from 0 and 1.
DATA first<>+0(SB)/8, $0
DATA first<>+8(SB)/8, $0
DATA first<>+16(SB)/8, $1
DATA first<>+24(SB)/8, $0
GLOBL first<>(SB), RODATA|NOPTR, $32

DATA two<>+0(SB)/8, $2
DATA two<>+8(SB)/8, $0
GLOBL two<>(SB), RODATA|NOPTR, $16

#define COUNT(blocks) \
	VPSHUFB Y13, Y12, blocks \
	VPADDQ  Y14, Y12, Y12

#define EACH(op) \
	op Y15, Y0, Y0 \
	op Y15, Y1, Y1 \
	op Y15, Y2, Y2 \
	op Y15, Y3, Y3 \
	op Y15, Y4, Y4 \
	op Y15, Y5, Y5 \
	op Y15, Y6, Y6 \
	op Y15, Y7, Y7

#define ROUND(at, op) \
	VBROADCASTI128 at(SI), Y15 \
	EACH(op)

// func countPairs(dst *byte, pieces int, keys *[rounds + 1][16]byte, block uint64)
//
// Sixteen blocks at a time. pieces is positive.
TEXT ·countPairs(SB), NOSPLIT, $0-32
	MOVQ           dst+0(FP), DI
	MOVQ           pieces+8(FP), CX
	MOVQ           keys+16(FP), SI
	VMOVQ          block+24(FP), X12 // the rest is zero
	VINSERTI128    $1, X12, Y12, Y12
	VPADDQ         first<>(SB), Y12, Y12
	VBROADCASTI128 reverse<>(SB), Y13
	VBROADCASTI128 two<>(SB), Y14

piece:
	COUNT(Y0)
	COUNT(Y1)
	COUNT(Y2)
	COUNT(Y3)
	COUNT(Y4)
	COUNT(Y5)
	COUNT(Y6)
	COUNT(Y7)
	ROUND(0, VPXOR)
	ROUND(16, VAESENC)
	ROUND(32, VAESENC)
	ROUND(48, VAESENC)
	ROUND(64, VAESENC)
	ROUND(80, VAESENC)
	ROUND(96, VAESENC)
	ROUND(112, VAESENC)
	ROUND(128, VAESENC)
	ROUND(144, VAESENC)
	ROUND(160, VAESENC)
	ROUND(176, VAESENC)
	ROUND(192, VAESENC)
	ROUND(208, VAESENC)
	ROUND(224, VAESENCLAST)
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	VMOVDQU Y4, 128(DI)
	VMOVDQU Y5, 160(DI)
	VMOVDQU Y6, 192(DI)
	VMOVDQU Y7, 224(DI)
	ADDQ    $256, DI
	DECQ    CX
	JNZ     piece
	VZEROALL
	RET

// func copyWords(dst *uint64, from *byte, fours int)
//
// fours is positive.
TEXT ·copyWords(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ from+8(FP), SI
	MOVQ fours+16(FP), CX

four:
	VMOVDQU (SI), Y0
	VMOVDQU Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	DECQ    CX
	JNZ     four
	VZEROALL
	RET
