#include "textflag.h"

// Constants of expFours, in the order in which it loads them.
DATA ·expConstants+0(SB)/8, $-708.0
DATA ·expConstants+8(SB)/8, $709.0
DATA ·expConstants+16(SB)/8, $92.332482616893657 // 64/ln 2
DATA ·expConstants+24(SB)/8, $6755399441055744.0 // 3·2⁵¹
DATA ·expConstants+32(SB)/8, $0x3f862e42fefa0000 // ln 2/64, first part
DATA ·expConstants+40(SB)/8, $0x3d1cf79abc9e3b3a // ln 2/64, second part
DATA ·expConstants+48(SB)/8, $0.0083333333333333333 // 1/120
DATA ·expConstants+56(SB)/8, $0.041666666666666667 // 1/24
DATA ·expConstants+64(SB)/8, $0.16666666666666667 // 1/6
DATA ·expConstants+72(SB)/8, $0.5
DATA ·expConstants+80(SB)/8, $1.0
DATA ·expConstants+88(SB)/8, $63
DATA ·expConstants+96(SB)/8, $1023
GLOBL ·expConstants(SB), RODATA|NOPTR, $104

// func expFours(dst, x []float64, table *[64]float64) int
//
// The operations are those of expOneByOne, in the same order, on four elements at a time.
TEXT ·expFours(SB), NOSPLIT, $0-64
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	MOVQ table+48(FP), R8
	LEAQ ·expConstants(SB), R9
	VBROADCASTSD 0(R9), Y15
	VBROADCASTSD 8(R9), Y14
	VBROADCASTSD 16(R9), Y13
	VBROADCASTSD 24(R9), Y12
	VBROADCASTSD 32(R9), Y11
	VBROADCASTSD 40(R9), Y10
	VPBROADCASTQ 88(R9), Y9
	VPBROADCASTQ 96(R9), Y8
	XORQ AX, AX

four:
	LEAQ 4(AX), DX
	CMPQ DX, CX
	JGT  done
	VMOVUPD (SI)(AX*8), Y0
	VCMPPD  $0x1e, Y15, Y0, Y1 // above the first constant
	VCMPPD  $0x11, Y14, Y0, Y2 // below the second
	VANDPD  Y1, Y2, Y1
	VMOVMSKPD Y1, BX
	CMPL    BX, $15
	JNE     done
	VMULPD  Y13, Y0, Y1
	VADDPD  Y12, Y1, Y1 // shifted; its low bits are k
	VSUBPD  Y12, Y1, Y2 // n
	VMULPD  Y11, Y2, Y3
	VSUBPD  Y3, Y0, Y3
	VMULPD  Y10, Y2, Y4
	VSUBPD  Y4, Y3, Y3 // r
	VBROADCASTSD 48(R9), Y4
	VMULPD  Y4, Y3, Y4
	VBROADCASTSD 56(R9), Y5
	VADDPD  Y5, Y4, Y4
	VMULPD  Y3, Y4, Y4
	VBROADCASTSD 64(R9), Y5
	VADDPD  Y5, Y4, Y4
	VMULPD  Y3, Y4, Y4
	VBROADCASTSD 72(R9), Y5
	VADDPD  Y5, Y4, Y4
	VMULPD  Y3, Y4, Y4
	VBROADCASTSD 80(R9), Y5
	VADDPD  Y5, Y4, Y4
	VMULPD  Y3, Y4, Y4 // p
	VPAND   Y9, Y1, Y5
	VPCMPEQD Y7, Y7, Y7
	VGATHERQPD Y7, (R8)(Y5*8), Y6 // t
	VPSRLQ  $6, Y1, Y1
	VPADDQ  Y8, Y1, Y1
	VPSLLQ  $52, Y1, Y1 // scale
	VMULPD  Y4, Y6, Y4
	VADDPD  Y6, Y4, Y4
	VMULPD  Y1, Y4, Y4
	VMOVUPD Y4, (DI)(AX*8)
	MOVQ    DX, AX
	JMP     four

done:
	VZEROUPPER
	MOVQ AX, ret+56(FP)
	RET
