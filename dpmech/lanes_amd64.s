#include "textflag.h"

// This is 1.5·2^52 as a float64. Its sum with an integer n, |n| < 2^51, has the bits of 1.5·2^52
// plus n.
DATA whole<>+0(SB)/8, $0x4338000000000000
GLOBL whole<>(SB), RODATA|NOPTR, $8

// func sumsOfSquaresAVX2(dst []float64, rows []int32, x *float64, d int)
//
// sumsOfSquaresAVX2 works on four rows at a time. As in sumOfSquares, lane i of a row's register is
// the sum of every fourth square from the i-th on, and the remaining squares are added to lane 0.
// The number of rows must be a positive multiple of four.
TEXT ·sumsOfSquaresAVX2(SB), NOSPLIT, $0-64
	MOVQ dst_base+0(FP), DI
	MOVQ rows_base+24(FP), SI
	MOVQ rows_len+32(FP), DX
	MOVQ x+48(FP), BX
	MOVQ d+56(FP), R12
	LEAQ (R12*8), R13

fourRows:
	MOVLQSX (SI), R8
	MOVLQSX 4(SI), R9
	MOVLQSX 8(SI), R10
	MOVLQSX 12(SI), R11
	IMULQ   R13, R8
	IMULQ   R13, R9
	IMULQ   R13, R10
	IMULQ   R13, R11
	ADDQ    BX, R8
	ADDQ    BX, R9
	ADDQ    BX, R10
	ADDQ    BX, R11
	VXORPD  Y0, Y0, Y0
	VXORPD  Y1, Y1, Y1
	VXORPD  Y2, Y2, Y2
	VXORPD  Y3, Y3, Y3
	XORQ    AX, AX
	MOVQ    R12, CX
	SUBQ    $4, CX
	JLT     rest

four:
	VMOVUPD (R8)(AX*1), Y4
	VMOVUPD (R9)(AX*1), Y5
	VMOVUPD (R10)(AX*1), Y6
	VMOVUPD (R11)(AX*1), Y7
	VMULPD  Y4, Y4, Y4
	VMULPD  Y5, Y5, Y5
	VMULPD  Y6, Y6, Y6
	VMULPD  Y7, Y7, Y7
	VADDPD  Y4, Y0, Y0
	VADDPD  Y5, Y1, Y1
	VADDPD  Y6, Y2, Y2
	VADDPD  Y7, Y3, Y3
	ADDQ    $32, AX
	SUBQ    $4, CX
	JGE     four

rest:
	VEXTRACTF128 $1, Y0, X8
	VEXTRACTF128 $1, Y1, X9
	VEXTRACTF128 $1, Y2, X10
	VEXTRACTF128 $1, Y3, X11
	ADDQ         $4, CX
	JZ           add

one:
	VMOVSD (R8)(AX*1), X4
	VMOVSD (R9)(AX*1), X5
	VMOVSD (R10)(AX*1), X6
	VMOVSD (R11)(AX*1), X7
	VMULSD X4, X4, X4
	VMULSD X5, X5, X5
	VMULSD X6, X6, X6
	VMULSD X7, X7, X7
	VADDSD X4, X0, X0
	VADDSD X5, X1, X1
	VADDSD X6, X2, X2
	VADDSD X7, X3, X3
	ADDQ   $8, AX
	DECQ   CX
	JNZ    one

add:
	VHADDPD X8, X0, X0
	VHADDPD X9, X1, X1
	VHADDPD X10, X2, X2
	VHADDPD X11, X3, X3
	VHADDPD X1, X0, X0
	VHADDPD X3, X2, X2
	VMOVUPD X0, (DI)
	VMOVUPD X2, 16(DI)
	ADDQ    $32, DI
	ADDQ    $16, SI
	SUBQ    $4, DX
	JNZ     fourRows
	VZEROUPPER
	RET

// func addTruncatedRowsAVX2(sum []int64, factors []float64, rows []int32, x *float64, mask *[32]int64)
//
// addTruncatedRowsAVX2 sums up to 16 columns at a time over all rows, as integral float64s below
// 2^51, and adds the result to sum. There must be at least one row.
TEXT ·addTruncatedRowsAVX2(SB), NOSPLIT, $0-88
	MOVQ         sum_base+0(FP), DI
	MOVQ         sum_len+8(FP), R12
	MOVQ         factors_base+24(FP), R8
	MOVQ         rows_base+48(FP), SI
	MOVQ         rows_len+56(FP), DX
	MOVQ         x+72(FP), BX
	MOVQ         mask+80(FP), R11
	LEAQ         (R12*8), R13
	VBROADCASTSD whole<>(SB), Y15
	TESTQ        R12, R12
	JZ           done

columns:
	MOVQ    $16, AX
	CMPQ    R12, AX
	CMOVQLT R12, AX
	LEAQ    128(R11), R9
	SHLQ    $3, AX
	SUBQ    AX, R9
	VMOVDQU (R9), Y8
	VMOVDQU 32(R9), Y9
	VMOVDQU 64(R9), Y10
	VMOVDQU 96(R9), Y11
	VXORPD  Y0, Y0, Y0
	VXORPD  Y1, Y1, Y1
	VXORPD  Y2, Y2, Y2
	VXORPD  Y3, Y3, Y3
	XORQ    CX, CX

row:
	MOVLQSX      (SI)(CX*4), R10
	IMULQ        R13, R10
	ADDQ         BX, R10
	VBROADCASTSD (R8)(CX*8), Y12
	VMASKMOVPD   (R10), Y8, Y4
	VMASKMOVPD   32(R10), Y9, Y5
	VMASKMOVPD   64(R10), Y10, Y6
	VMASKMOVPD   96(R10), Y11, Y7
	VMULPD       Y12, Y4, Y4
	VMULPD       Y12, Y5, Y5
	VMULPD       Y12, Y6, Y6
	VMULPD       Y12, Y7, Y7
	VROUNDPD     $0x0b, Y4, Y4
	VROUNDPD     $0x0b, Y5, Y5
	VROUNDPD     $0x0b, Y6, Y6
	VROUNDPD     $0x0b, Y7, Y7
	VADDPD       Y4, Y0, Y0
	VADDPD       Y5, Y1, Y1
	VADDPD       Y6, Y2, Y2
	VADDPD       Y7, Y3, Y3
	INCQ         CX
	CMPQ         CX, DX
	JLT          row

	VADDPD      Y15, Y0, Y0
	VADDPD      Y15, Y1, Y1
	VADDPD      Y15, Y2, Y2
	VADDPD      Y15, Y3, Y3
	VPSUBQ      Y15, Y0, Y0
	VPSUBQ      Y15, Y1, Y1
	VPSUBQ      Y15, Y2, Y2
	VPSUBQ      Y15, Y3, Y3
	VPMASKMOVQ  (DI), Y8, Y4
	VPMASKMOVQ  32(DI), Y9, Y5
	VPMASKMOVQ  64(DI), Y10, Y6
	VPMASKMOVQ  96(DI), Y11, Y7
	VPADDQ      Y4, Y0, Y0
	VPADDQ      Y5, Y1, Y1
	VPADDQ      Y6, Y2, Y2
	VPADDQ      Y7, Y3, Y3
	VPMASKMOVQ  Y0, Y8, (DI)
	VPMASKMOVQ  Y1, Y9, 32(DI)
	VPMASKMOVQ  Y2, Y10, 64(DI)
	VPMASKMOVQ  Y3, Y11, 96(DI)
	ADDQ        $128, DI
	ADDQ        $128, BX
	SUBQ        $16, R12
	JGT         columns

done:
	VZEROUPPER
	RET
