#include "textflag.h"

DATA one<>+0(SB)/8, $0x3ff0000000000000
GLOBL one<>(SB), RODATA|NOPTR, $8

// func projectAVX2(mean, variance []float64, records []uint32, x *float64, means, variances []float64, mask *[8]int64)
//
// Lane i of Y0 and Y1 is the sum over every fourth coordinate from the i-th on. Lanes beyond
// the last coordinate add zero.
TEXT ·projectAVX2(SB), NOSPLIT, $0-136
	MOVQ mean_base+0(FP), DI
	MOVQ variance_base+24(FP), R8
	MOVQ records_base+48(FP), R9
	MOVQ records_len+56(FP), R10
	MOVQ x+72(FP), R11
	MOVQ means_base+80(FP), R12
	MOVQ means_len+88(FP), R13
	MOVQ variances_base+104(FP), BX
	MOVQ mask+128(FP), SI

	MOVQ    R13, AX
	ANDQ    $3, AX
	MOVQ    $4, DX
	SUBQ    AX, DX
	VMOVDQU (SI)(DX*8), Y7  // of the last lanes
	MOVQ    R13, R14
	SUBQ    AX, R14         // coordinates in fours

record:
	MOVL   (R9), CX
	IMULQ  R13, CX
	LEAQ   (R11)(CX*8), SI
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	XORQ   CX, CX
	CMPQ   CX, R14
	JGE    rest

four:
	VMOVUPD (SI)(CX*8), Y2
	VMULPD  (R12)(CX*8), Y2, Y3
	VADDPD  Y3, Y0, Y0
	VMULPD  Y2, Y2, Y2
	VMULPD  (BX)(CX*8), Y2, Y2
	VADDPD  Y2, Y1, Y1
	ADDQ    $4, CX
	CMPQ    CX, R14
	JLT     four

rest:
	CMPQ       CX, R13
	JGE        add
	VMASKMOVPD (SI)(CX*8), Y7, Y2
	VMASKMOVPD (R12)(CX*8), Y7, Y3
	VMASKMOVPD (BX)(CX*8), Y7, Y4
	VMULPD     Y3, Y2, Y3
	VADDPD     Y3, Y0, Y0
	VMULPD     Y2, Y2, Y2
	VMULPD     Y4, Y2, Y2
	VADDPD     Y2, Y1, Y1

add:
	VHADDPD      Y1, Y0, Y0 // m0+m1, v0+v1, m2+m3, v2+v3
	VEXTRACTF128 $1, Y0, X1
	VADDPD       X1, X0, X0
	VMOVLPD      X0, (DI)
	VMOVHPD      X0, (R8)
	ADDQ         $8, DI
	ADDQ         $8, R8
	ADDQ         $4, R9
	DECQ         R10
	JNZ          record
	VZEROUPPER
	RET

// func matchAVX2(dst *float64, x, variances []float64, slope, bend, weight float64, mask *[8]int64)
TEXT ·matchAVX2(SB), NOSPLIT, $0-88
	MOVQ         dst+0(FP), DI
	MOVQ         x_base+8(FP), SI
	MOVQ         x_len+16(FP), R13
	MOVQ         variances_base+32(FP), BX
	VBROADCASTSD slope+56(FP), Y8
	VBROADCASTSD bend+64(FP), Y9
	VBROADCASTSD weight+72(FP), Y10
	VBROADCASTSD one<>(SB), Y11
	MOVQ         mask+80(FP), R9
	LEAQ         (DI)(R13*8), R8

	MOVQ    R13, AX
	ANDQ    $3, AX
	MOVQ    $4, DX
	SUBQ    AX, DX
	VMOVDQU (R9)(DX*8), Y7
	MOVQ    R13, R14
	SUBQ    AX, R14
	XORQ    CX, CX
	CMPQ    CX, R14
	JGE     rest

four:
	VMOVUPD (SI)(CX*8), Y0
	VMULPD  Y0, Y9, Y1           // h·e
	VMULPD  Y0, Y1, Y1           // bend
	VMULPD  (BX)(CX*8), Y1, Y2
	VSUBPD  Y2, Y11, Y2
	VDIVPD  Y2, Y11, Y2          // stretch
	VMULPD  Y0, Y8, Y0
	VMULPD  Y2, Y0, Y0
	VMOVUPD Y0, (DI)(CX*8)
	VMULPD  Y2, Y1, Y1
	VMULPD  Y10, Y1, Y1
	VMOVUPD Y1, (R8)(CX*8)
	ADDQ    $4, CX
	CMPQ    CX, R14
	JLT     four

rest:
	CMPQ       CX, R13
	JGE        done
	VMASKMOVPD (SI)(CX*8), Y7, Y0
	VMASKMOVPD (BX)(CX*8), Y7, Y3
	VMULPD     Y0, Y9, Y1
	VMULPD     Y0, Y1, Y1
	VMULPD     Y3, Y1, Y2
	VSUBPD     Y2, Y11, Y2
	VDIVPD     Y2, Y11, Y2
	VMULPD     Y0, Y8, Y0
	VMULPD     Y2, Y0, Y0
	VMASKMOVPD Y0, Y7, (DI)(CX*8)
	VMULPD     Y2, Y1, Y1
	VMULPD     Y10, Y1, Y1
	VMASKMOVPD Y1, Y7, (R8)(CX*8)

done:
	VZEROUPPER
	RET
