// E400 at 10:17
data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real a;
  real<lower=0> upper;
}
model {
  a ~ normal(0, 1);
  upper ~ normal(0, 1);
  x ~ normal(a, upper);
}
