#include "textflag.h"

// Each function computes four elements at a time, and leaves out the last one to three.

#define FOURS(OPERATE) \
	MOVQ dst_base+0(FP), DI; \
	MOVQ dst_len+8(FP), CX;  \
	MOVQ a_base+24(FP), SI;  \
	MOVQ b_base+48(FP), R8;  \
	ANDQ $~3, CX;            \
	XORQ AX, AX;             \
	JMP  test;               \
next: \
	VMOVUPD (SI)(AX*8), Y0;  \
	OPERATE;                 \
	VMOVUPD Y0, (DI)(AX*8);  \
	ADDQ    $4, AX;          \
test: \
	CMPQ AX, CX;             \
	JLT  next;               \
	VZEROUPPER

#define ADD VADDPD (R8)(AX*8), Y0, Y0
#define SUB VSUBPD (R8)(AX*8), Y0, Y0
#define MUL VMULPD (R8)(AX*8), Y0, Y0
#define MULADD MUL; VADDPD (DI)(AX*8), Y0, Y0

// func addFours(dst, a, b []float64)
TEXT ·addFours(SB), NOSPLIT, $0-72
	FOURS(ADD)
	RET

// func subFours(dst, a, b []float64)
TEXT ·subFours(SB), NOSPLIT, $0-72
	FOURS(SUB)
	RET

// func mulFours(dst, a, b []float64)
TEXT ·mulFours(SB), NOSPLIT, $0-72
	FOURS(MUL)
	RET

// func mulAddFours(dst, a, b []float64)
TEXT ·mulAddFours(SB), NOSPLIT, $0-72
	FOURS(MULADD)
	RET
