#include "textflag.h"

// func tileAVX2(dst *float32, stride int, a *float32, row, step int, b *float32, k int, add bool)
//
// tileAVX2 keeps six rows of sixteen sums in the registers Y4 to Y15, with two registers for each
// row. k must be positive.
TEXT ·tileAVX2(SB), NOSPLIT, $0-57
	MOVQ   dst+0(FP), DI
	MOVQ   stride+8(FP), DX
	MOVQ   a+16(FP), SI
	MOVQ   row+24(FP), R8
	MOVQ   step+32(FP), R9
	MOVQ   b+40(FP), BX
	MOVQ   k+48(FP), CX
	SHLQ   $2, DX
	SHLQ   $2, R8
	SHLQ   $2, R9
	LEAQ   (R8)(R8*2), R10
	LEAQ   (R8)(R8*4), R11
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11
	VXORPS Y12, Y12, Y12
	VXORPS Y13, Y13, Y13
	VXORPS Y14, Y14, Y14
	VXORPS Y15, Y15, Y15

terms:
	VMOVUPS      (BX), Y0
	VMOVUPS      32(BX), Y1
	VBROADCASTSS (SI), Y2
	VBROADCASTSS (SI)(R8*1), Y3
	VFMADD231PS  Y0, Y2, Y4
	VFMADD231PS  Y1, Y2, Y5
	VFMADD231PS  Y0, Y3, Y6
	VFMADD231PS  Y1, Y3, Y7
	VBROADCASTSS (SI)(R8*2), Y2
	VBROADCASTSS (SI)(R10*1), Y3
	VFMADD231PS  Y0, Y2, Y8
	VFMADD231PS  Y1, Y2, Y9
	VFMADD231PS  Y0, Y3, Y10
	VFMADD231PS  Y1, Y3, Y11
	VBROADCASTSS (SI)(R8*4), Y2
	VBROADCASTSS (SI)(R11*1), Y3
	VFMADD231PS  Y0, Y2, Y12
	VFMADD231PS  Y1, Y2, Y13
	VFMADD231PS  Y0, Y3, Y14
	VFMADD231PS  Y1, Y3, Y15
	ADDQ         R9, SI
	ADDQ         $64, BX
	DECQ         CX
	JNZ          terms
	MOVBLZX      add+56(FP), AX
	LEAQ         (DX)(DX*2), R10
	LEAQ         (DI)(R10*1), BX
	TESTQ        AX, AX
	JZ           store
	VADDPS       (DI), Y4, Y4
	VADDPS       32(DI), Y5, Y5
	VADDPS       (DI)(DX*1), Y6, Y6
	VADDPS       32(DI)(DX*1), Y7, Y7
	VADDPS       (DI)(DX*2), Y8, Y8
	VADDPS       32(DI)(DX*2), Y9, Y9
	VADDPS       (BX), Y10, Y10
	VADDPS       32(BX), Y11, Y11
	VADDPS       (BX)(DX*1), Y12, Y12
	VADDPS       32(BX)(DX*1), Y13, Y13
	VADDPS       (BX)(DX*2), Y14, Y14
	VADDPS       32(BX)(DX*2), Y15, Y15

store:
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)
	VMOVUPS Y6, (DI)(DX*1)
	VMOVUPS Y7, 32(DI)(DX*1)
	VMOVUPS Y8, (DI)(DX*2)
	VMOVUPS Y9, 32(DI)(DX*2)
	VMOVUPS Y10, (BX)
	VMOVUPS Y11, 32(BX)
	VMOVUPS Y12, (BX)(DX*1)
	VMOVUPS Y13, 32(BX)(DX*1)
	VMOVUPS Y14, (BX)(DX*2)
	VMOVUPS Y15, 32(BX)(DX*2)
	VZEROUPPER
	RET

// TURN transposes four columns of eight rows to four rows. A row has 64 bytes.
#define TURN(at, to) \
	VMOVUPS     at(SI), X0               \
	VMOVUPS     (at+64)(SI), X1          \
	VMOVUPS     (at+128)(SI), X2         \
	VMOVUPS     (at+192)(SI), X3         \
	VINSERTF128 $1, (at+256)(SI), Y0, Y0 \
	VINSERTF128 $1, (at+320)(SI), Y1, Y1 \
	VINSERTF128 $1, (at+384)(SI), Y2, Y2 \
	VINSERTF128 $1, (at+448)(SI), Y3, Y3 \
	VUNPCKLPS   Y1, Y0, Y4               \
	VUNPCKHPS   Y1, Y0, Y5               \
	VUNPCKLPS   Y3, Y2, Y6               \
	VUNPCKHPS   Y3, Y2, Y7               \
	VUNPCKLPD   Y6, Y4, Y0               \
	VUNPCKHPD   Y6, Y4, Y1               \
	VUNPCKLPD   Y7, Y5, Y2               \
	VUNPCKHPD   Y7, Y5, Y3               \
	VMOVUPS     Y0, to(DI)               \
	VMOVUPS     Y1, (to+64)(DI)          \
	VMOVUPS     Y2, (to+128)(DI)         \
	VMOVUPS     Y3, (to+192)(DI)

// func transposeAVX2(dst, w *float32)
//
// transposeAVX2 transposes eight rows of sixteen columns to sixteen rows. Successive rows of dst
// begin 64 bytes apart.
TEXT ·transposeAVX2(SB), NOSPLIT, $0-16
	MOVQ dst+0(FP), DI
	MOVQ w+8(FP), SI
	TURN(0, 0)
	TURN(16, 256)
	TURN(32, 512)
	TURN(48, 768)
	VZEROUPPER
	RET
