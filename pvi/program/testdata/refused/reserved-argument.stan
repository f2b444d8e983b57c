// E400 at 3:29
functions {
  real shifted(real a, real offset) {
    return a + offset;
  }
}
data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real a;
  real<lower=0> s;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  x ~ normal(shifted(a, 1), s);
}
