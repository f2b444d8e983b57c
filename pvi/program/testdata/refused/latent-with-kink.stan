// E204 at 16:3
data {
  int N;
  vector[N] x;
  array[N] int<lower=0> k;
  array[N] int<lower=1> g;
}
parameters {
  real a;
  real<lower=0> s;
  vector[N] e;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  e ~ double_exponential(0, s);
  k ~ poisson_log(a + e);
}
