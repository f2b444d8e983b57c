#include "textflag.h"

// func dotRowsAVX(dst []float64, rows []int32, x *float64, v []float64)
//
// Four rows at a time, each summed in two strands as by dotTwoStrands, a strand in a
// lane. The number of rows is a multiple of four and positive, v not empty.
TEXT ·dotRowsAVX(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), DI
	MOVQ rows_base+24(FP), SI
	MOVQ rows_len+32(FP), DX
	MOVQ x+48(FP), R13
	MOVQ v_base+56(FP), BX
	MOVQ v_len+64(FP), R12

fourRows:
	MOVLQSX (SI), R8
	MOVLQSX 4(SI), R9
	MOVLQSX 8(SI), R10
	MOVLQSX 12(SI), R11
	IMULQ   R12, R8
	IMULQ   R12, R9
	IMULQ   R12, R10
	IMULQ   R12, R11
	LEAQ    (R13)(R8*8), R8
	LEAQ    (R13)(R9*8), R9
	LEAQ    (R13)(R10*8), R10
	LEAQ    (R13)(R11*8), R11
	VXORPD  X0, X0, X0
	VXORPD  X1, X1, X1
	VXORPD  X2, X2, X2
	VXORPD  X3, X3, X3
	XORQ    AX, AX
	MOVQ    R12, CX
	SUBQ    $2, CX
	JLT     last

two:
	VMOVUPD (BX)(AX*8), X8
	VMULPD  (R8)(AX*8), X8, X4
	VMULPD  (R9)(AX*8), X8, X5
	VMULPD  (R10)(AX*8), X8, X6
	VMULPD  (R11)(AX*8), X8, X7
	VADDPD  X4, X0, X0
	VADDPD  X5, X1, X1
	VADDPD  X6, X2, X2
	VADDPD  X7, X3, X3
	ADDQ    $2, AX
	SUBQ    $2, CX
	JGE     two

last:
	ADDQ   $2, CX
	JZ     add
	VMOVSD (BX)(AX*8), X8
	VMULSD (R8)(AX*8), X8, X4
	VMULSD (R9)(AX*8), X8, X5
	VMULSD (R10)(AX*8), X8, X6
	VMULSD (R11)(AX*8), X8, X7
	VADDSD X4, X0, X4
	VADDSD X5, X1, X5
	VADDSD X6, X2, X6
	VADDSD X7, X3, X7
	VMOVSD X4, X0, X0
	VMOVSD X5, X1, X1
	VMOVSD X6, X2, X2
	VMOVSD X7, X3, X3

add:
	VHADDPD X1, X0, X0
	VHADDPD X3, X2, X2
	VMOVUPD X0, (DI)
	VMOVUPD X2, 16(DI)
	ADDQ    $32, DI
	ADDQ    $16, SI
	SUBQ    $4, DX
	JNZ     fourRows
	RET
