// E302 at 1:1
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
  a ~ normal(0, s);
  s ~ exponential(exp(a));
  x ~ normal(a, s);
}
