// All steps of a visit in one launch. Each block takes one problem, so that many clients or
// seeds run at once.
#include "mixture.h"
#include "multilevel.h"
#include "regression.h"

KERNEL THREADS(256) void descend_regression(Problem *problems) { take_steps<Regression>(problems); }

KERNEL THREADS(256) void descend_mixture(Problem *problems) { take_steps<Formed<Mixture>>(problems); }

KERNEL THREADS(256) void descend_multilevel(Problem *problems) { take_steps<Formed<Multilevel>>(problems); }
