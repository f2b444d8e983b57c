#include "textflag.h"

// func softplusAVX2(dst, slope, x *float32, n int, constants *[softplusConstants][8]float32)
//
// n is a positive multiple of eight.
TEXT ·softplusAVX2(SB), NOSPLIT, $0-40
	MOVQ    dst+0(FP), DI
	MOVQ    slope+8(FP), DX
	MOVQ    x+16(FP), SI
	MOVQ    n+24(FP), CX
	MOVQ    constants+32(FP), R9
	VMOVUPS (R9), Y15      // the sign
	VMOVUPS 32(R9), Y14    // 1/log 2
	VMOVUPS 64(R9), Y13    // the smallest exponent
	VMOVUPS 96(R9), Y12    // upper part of log 2
	VMOVUPS 128(R9), Y11   // lower part of log 2
	VMOVUPS 160(R9), Y10   // 1
	XORQ    AX, AX

eight:
	VMOVUPS (SI)(AX*4), Y0
	VORPS   Y15, Y0, Y1
	VMAXPS  Y1, Y13, Y1    // a NaN stays NaN, because the instruction then returns this operand

	// t = exp(−|x|) = 2ⁿ·eʳ
	VMULPS       Y14, Y1, Y2
	VROUNDPS     $0, Y2, Y2
	VFNMADD231PS Y12, Y2, Y1
	VFNMADD231PS Y11, Y2, Y1
	VMOVUPS      192(R9), Y3
	VFMADD213PS  224(R9), Y1, Y3
	VFMADD213PS  256(R9), Y1, Y3
	VFMADD213PS  288(R9), Y1, Y3
	VFMADD213PS  320(R9), Y1, Y3
	VFMADD213PS  352(R9), Y1, Y3
	VMULPS       Y1, Y1, Y4
	VFMADD213PS  Y1, Y4, Y3
	VADDPS       Y10, Y3, Y3
	VCVTPS2DQ    Y2, Y2
	VPSLLD       $23, Y2, Y2
	VPADDD       Y2, Y3, Y3

	// The slope is 1/(1 + t), or t/(1 + t) if x is negative.
	VADDPS    Y10, Y3, Y4
	VBLENDVPS Y0, Y3, Y10, Y5
	VDIVPS    Y4, Y5, Y5
	VMOVUPS   Y5, (DX)(AX*4)

	// The value is max(x, 0) + log(1 + t).
	VADDPS      Y10, Y4, Y6
	VDIVPS      Y6, Y3, Y6
	VMULPS      Y6, Y6, Y7
	VMOVUPS     384(R9), Y8
	VFMADD213PS 416(R9), Y7, Y8
	VFMADD213PS 448(R9), Y7, Y8
	VFMADD213PS 480(R9), Y7, Y8
	VFMADD213PS 512(R9), Y7, Y8
	VFMADD213PS 544(R9), Y7, Y8
	VFMADD213PS 576(R9), Y7, Y8
	VADDPS      Y6, Y6, Y6
	VXORPS      Y9, Y9, Y9
	VMAXPS      Y0, Y9, Y9
	VFMADD231PS Y8, Y6, Y9
	VMOVUPS     Y9, (DI)(AX*4)
	ADDQ        $8, AX
	CMPQ        AX, CX
	JLT         eight
	VZEROUPPER
	RET

// func adamAVX2(c *adamStep, w, first, second, gradient *float32, n int)
//
// n is a positive multiple of eight.
TEXT ·adamAVX2(SB), NOSPLIT, $0-48
	MOVQ         c+0(FP), AX
	MOVQ         w+8(FP), DI
	MOVQ         first+16(FP), R8
	MOVQ         second+24(FP), R9
	MOVQ         gradient+32(FP), SI
	MOVQ         n+40(FP), CX
	VBROADCASTSS (AX), Y15
	VBROADCASTSS 4(AX), Y14
	VBROADCASTSS 8(AX), Y13
	VBROADCASTSS 12(AX), Y12
	VBROADCASTSS 16(AX), Y11
	VBROADCASTSS 20(AX), Y10
	XORQ         AX, AX

eight:
	VMULPS       (SI)(AX*4), Y10, Y0
	VMOVUPS      (R8)(AX*4), Y1
	VMOVUPS      (R9)(AX*4), Y2
	VSUBPS       Y1, Y0, Y3
	VFMADD231PS  Y3, Y15, Y1
	VMOVUPS      Y1, (R8)(AX*4)
	VMULPS       Y0, Y0, Y0
	VSUBPS       Y2, Y0, Y0
	VFMADD231PS  Y0, Y14, Y2
	VMOVUPS      Y2, (R9)(AX*4)
	VMULPS       Y12, Y2, Y2
	VSQRTPS      Y2, Y2
	VADDPS       Y11, Y2, Y2
	VMULPS       Y13, Y1, Y1
	VDIVPS       Y2, Y1, Y1
	VMOVUPS      (DI)(AX*4), Y3
	VSUBPS       Y1, Y3, Y3
	VMOVUPS      Y3, (DI)(AX*4)
	ADDQ         $8, AX
	CMPQ         AX, CX
	JLT          eight
	VZEROUPPER
	RET
