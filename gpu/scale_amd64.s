#include "textflag.h"

// func scaleRowsAVX(dst *float64, stride int, c []float64, x *float64, rows []int32, cols int)
//
// There is at least one row, of at least one element.
TEXT ·scaleRowsAVX(SB), NOSPLIT, $0-80
	MOVQ dst+0(FP), DI
	MOVQ stride+8(FP), DX
	MOVQ c_base+16(FP), SI
	MOVQ c_len+24(FP), CX
	MOVQ x+40(FP), R13
	MOVQ rows_base+48(FP), BX
	MOVQ cols+72(FP), R12
	SHLQ $3, DX

row:
	MOVLQSX      (BX), R8
	IMULQ        R12, R8
	LEAQ         (R13)(R8*8), R8
	VBROADCASTSD (SI), Y0
	XORQ         AX, AX
	MOVQ         R12, R9
	SUBQ         $4, R9
	JLT          two

four:
	VMULPD  (R8)(AX*8), Y0, Y1
	VMOVUPD Y1, (DI)(AX*8)
	ADDQ    $4, AX
	SUBQ    $4, R9
	JGE     four

two:
	TESTQ   $2, R9
	JZ      one
	VMULPD  (R8)(AX*8), X0, X1
	VMOVUPD X1, (DI)(AX*8)
	ADDQ    $2, AX

one:
	TESTQ  $1, R9
	JZ     next
	VMULSD (R8)(AX*8), X0, X1
	VMOVSD X1, (DI)(AX*8)

next:
	ADDQ DX, DI
	ADDQ $8, SI
	ADDQ $4, BX
	DECQ CX
	JNZ  row
	VZEROUPPER
	RET
