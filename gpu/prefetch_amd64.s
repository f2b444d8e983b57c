#include "textflag.h"

// func prefetchRows(x *float64, rows []int32, size int)
//
// size, in bytes, is positive. The lines of a row are those of its first byte, of every
// 64th after it, and of its last. A prefetch of any address is harmless.
TEXT ·prefetchRows(SB), NOSPLIT, $0-40
	MOVQ x+0(FP), SI
	MOVQ rows_base+8(FP), DI
	MOVQ rows_len+16(FP), CX
	MOVQ size+32(FP), DX
	TESTQ CX, CX
	JZ    done

row:
	MOVLQSX (DI), AX
	IMULQ   DX, AX
	ADDQ    SI, AX
	LEAQ    -1(AX)(DX*1), BX
	PREFETCHT0 (BX)

line:
	PREFETCHT0 (AX)
	ADDQ $64, AX
	CMPQ AX, BX
	JLS  line
	ADDQ $4, DI
	DECQ CX
	JNZ  row

done:
	RET
